{{- define "glance.etc" -}}
{{- $computed := include "glance.store" . | fromYaml }}
{{- $conf := include "lib.oslo_conf" (mergeOverwrite $computed (deepCopy .Values.conf.glance)) }}
{{- with .Values.secrets.conf.glance }}
{{- /* Its version in the file makes the pods start anew when a sensitive option changes. */}}
{{- $conf = printf "# sensitive options: Secret %s, version %s\n%s" .name .digest $conf }}
{{- end }}
glance-api.conf: {{ $conf | toJson }}
glance-api-uwsgi.ini: {{ include "lib.oslo_conf" .Values.conf.glance_api_uwsgi | toJson }}
logging.conf: {{ include "lib.oslo_conf" .Values.conf.logging | toJson }}
{{- end }}

{{/* The store on the volume, as one of Glance's several stores, each a section of its name. conf.glance has the last word. */}}
{{- define "glance.store" -}}
{{- with .Values.volume.store }}
DEFAULT: {enabled_backends: [{{ printf "%s:file" . | quote }}]}
glance_store: {default_backend: {{ . | quote }}}
{{ . | quote }}: {filesystem_store_datadir: /var/lib/glance/images}
{{- end }}
{{- end }}

{{/* What every Glance process reads. glance.conf.d is one of oslo.config's own places, read after glance-api.conf. */}}
{{- define "glance.mounts" -}}
- {name: etc, mountPath: /etc/glance/glance-api.conf, subPath: glance-api.conf, readOnly: true}
- {name: etc, mountPath: /etc/glance/logging.conf, subPath: logging.conf, readOnly: true}
- {name: snippets, mountPath: /etc/glance/glance.conf.d, readOnly: true}
{{- end }}

{{/* Root's files, which fsGroup lets the glance user read and nobody else. */}}
{{- define "glance.volumes" -}}
- name: snippets
  projected:
    defaultMode: 0400
    sources:
      - secret:
          name: {{ .Values.secrets.oslo_db.glance }}
          items: [{key: database.conf, path: database.conf}]
      - secret:
          name: {{ .Values.secrets.identity.glance }}
          items: [{key: keystone_authtoken.conf, path: keystone_authtoken.conf}]
      {{- with .Values.secrets.oslo_messaging.notifications }}
      - secret:
          name: {{ . }}
          items: [{key: notifications.conf, path: notifications.conf}]
      {{- end }}
      {{- with .Values.secrets.conf.glance }}
      - secret:
          name: {{ .name }}
          items: [{key: overrides.conf, path: zz-overrides.conf}]
      {{- end }}
{{- end }}
