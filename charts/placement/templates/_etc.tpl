{{- define "placement.etc" -}}
{{- $conf := include "lib.oslo_conf" .Values.conf.placement }}
{{- with .Values.secrets.conf.placement }}
{{- /* The digest in the file restarts the pods when a sensitive option changes. */}}
{{- $conf = printf "# sensitive options: Secret %s, version %s\n%s" .name .digest $conf }}
{{- end }}
placement.conf: {{ $conf | toJson }}
placement-api-uwsgi.ini: {{ include "lib.uwsgi_conf" (list .Values.conf.placement_api_uwsgi "placement.wsgi") | toJson }}
logging.conf: {{ include "lib.oslo_conf" .Values.conf.logging | toJson }}
{{- end }}

{{/* Files of every Placement process. placement.conf.d is a default directory of oslo.config, read after placement.conf. */}}
{{- define "placement.mounts" -}}
- {name: etc, mountPath: /etc/placement/placement.conf, subPath: placement.conf, readOnly: true}
- {name: etc, mountPath: /etc/placement/logging.conf, subPath: logging.conf, readOnly: true}
- {name: snippets, mountPath: /etc/placement/placement.conf.d, readOnly: true}
{{- end }}

{{/* root owns the files; only the group (fsGroup) of the placement user may read them. */}}
{{- define "placement.volumes" -}}
- name: snippets
  projected:
    defaultMode: 0400
    sources:
      - secret:
          name: {{ include "lib.text" .Values.secrets.oslo_db.placement }}
          items: [{key: database.conf, path: database.conf}]
      - secret:
          name: {{ include "lib.text" .Values.secrets.identity.placement }}
          items: [{key: keystone_authtoken.conf, path: keystone_authtoken.conf}]
      {{- with .Values.secrets.conf.placement }}
      - secret:
          name: {{ include "lib.text" .name }}
          items: [{key: overrides.conf, path: zz-overrides.conf}]
      {{- end }}
{{- end }}
