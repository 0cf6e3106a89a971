{{- define "keystone.etc" -}}
{{- $conf := include "lib.oslo_conf" .Values.conf.keystone }}
{{- with .Values.secrets.conf.keystone }}
{{- /* The digest in the file restarts the pods when a sensitive option changes. */}}
{{- $conf = printf "# sensitive options: Secret %s, version %s\n%s" .name .digest $conf }}
{{- end }}
keystone.conf: {{ $conf | toJson }}
keystone-api-uwsgi.ini: {{ include "lib.uwsgi_conf" (list .Values.conf.keystone_api_uwsgi "keystone.server.wsgi" "keystone.common.rbac_enforcer.enforcer") | toJson }}
logging.conf: {{ include "lib.oslo_conf" .Values.conf.logging | toJson }}
{{- end }}

{{/* Files of every Keystone process. keystone.conf.d is a default directory of oslo.config, read after keystone.conf. */}}
{{- define "keystone.mounts" -}}
- {name: etc, mountPath: /etc/keystone/keystone.conf, subPath: keystone.conf, readOnly: true}
- {name: etc, mountPath: /etc/keystone/logging.conf, subPath: logging.conf, readOnly: true}
- {name: snippets, mountPath: /etc/keystone/keystone.conf.d, readOnly: true}
- {name: fernet, mountPath: /etc/keystone/fernet-keys, readOnly: true}
- {name: credential, mountPath: /etc/keystone/credential-keys, readOnly: true}
{{- end }}

{{/* root owns the files; only the group (fsGroup) of the keystone user may read them. */}}
{{- define "keystone.volumes" -}}
- name: snippets
  projected:
    defaultMode: 0400
    sources:
      - secret:
          name: {{ include "lib.text" .Values.secrets.oslo_db.keystone }}
          items: [{key: database.conf, path: database.conf}]
      {{- with .Values.secrets.oslo_messaging.keystone }}
      - secret:
          name: {{ include "lib.text" . }}
          items: [{key: messaging.conf, path: messaging.conf}]
      {{- end }}
      {{- with .Values.secrets.conf.keystone }}
      - secret:
          name: {{ include "lib.text" .name }}
          items: [{key: overrides.conf, path: zz-overrides.conf}]
      {{- end }}
# Whole directories: when the operator rotates the keys, the files change in running pods, whose processes read them each time.
- name: fernet
  secret: {secretName: {{ include "lib.text" .Values.secrets.fernet }}, defaultMode: 0400}
- name: credential
  secret: {secretName: {{ include "lib.text" .Values.secrets.credential }}, defaultMode: 0400}
{{- end }}

{{/* Further files of a process that uses the cache: the key, and the scripts that encrypt with it. */}}
{{- define "keystone.cache.mounts" -}}
- {name: bin, mountPath: /opt/stackwright, readOnly: true}
- {name: cache-key, mountPath: /etc/keystone/cache-key, readOnly: true}
{{- end }}

{{- define "keystone.cache.volumes" -}}
- name: cache-key
  secret: {secretName: {{ include "lib.text" .Values.secrets.cache }}, defaultMode: 0400}
{{- end }}
