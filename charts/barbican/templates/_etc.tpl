{{- define "barbican.etc" -}}
{{- $conf := include "lib.oslo_conf" (mergeOverwrite (include "barbican.conf" . | fromYaml) (deepCopy .Values.conf.barbican)) }}
{{- with .Values.secrets.conf.barbican }}
{{- /* The digest in the file restarts the pods when a sensitive option changes. */}}
{{- $conf = printf "# sensitive options: Secret %s, version %s\n%s" .name .digest $conf }}
{{- end }}
barbican.conf: {{ $conf | toJson }}
logging.conf: {{ include "lib.oslo_conf" .Values.conf.logging | toJson }}
barbican-api-uwsgi.ini: {{ include "lib.uwsgi_conf" (list .Values.conf.barbican_api_uwsgi "barbican.api.app") | toJson }}
{{- end }}

{{/* Options derived from other values; conf.barbican overrides them. */}}
{{- define "barbican.conf" -}}
{{- if .Values.secrets.vault_ca.name -}}
vault_plugin:
  ssl_ca_crt_file: /etc/barbican/vault/ca.crt
{{- else -}}
{}
{{- end }}
{{- end }}

{{/* The files of every process. barbican.conf.d is a default directory of oslo.config, read after barbican.conf. */}}
{{- define "barbican.mounts" -}}
- {name: bin, mountPath: /opt/stackwright, readOnly: true}
- {name: etc, mountPath: /etc/barbican/barbican.conf, subPath: barbican.conf, readOnly: true}
- {name: etc, mountPath: /etc/barbican/logging.conf, subPath: logging.conf, readOnly: true}
- {name: snippets, mountPath: /etc/barbican/barbican.conf.d, readOnly: true}
{{- end }}

{{/*
barbican.snippets (root, parts…): the volume with the parts of the configuration that are in Secrets. Each process gets only
the parts that it needs. root owns the files; only the group (fsGroup) of the barbican user may read them.
*/}}
{{- define "barbican.snippets" -}}
{{- $root := index . 0 -}}
{{- $s := $root.Values.secrets -}}
{{- $parts := dict
      "database" (list $s.oslo_db.barbican "database.conf" "database.conf")
      "messaging" (list $s.oslo_messaging.barbican "messaging.conf" "messaging.conf")
      "token" (list $s.identity.barbican "keystone_authtoken.conf" "keystone_authtoken.conf")
      "overrides" (list (dig "name" "" ($s.conf.barbican | default dict)) "overrides.conf" "zz-overrides.conf") -}}
- name: snippets
  projected:
    defaultMode: 0400
    sources:
      {{- range slice . 1 }}
      {{- $part := get $parts . }}
      {{- with first $part }}
      - secret:
          name: {{ include "lib.text" . }}
          items: [{key: {{ include "lib.text" (index $part 1) }}, path: {{ include "lib.text" (index $part 2) }}}]
      {{- end }}
      {{- end }}
{{- end }}

{{/* The files of processes that use the stores of secrets. kek.py reads the keys again at each use. */}}
{{- define "barbican.store_mounts" -}}
- {name: kek, mountPath: /etc/barbican/kek, readOnly: true}
{{- if .Values.secrets.vault_ca.name }}
- {name: vault-ca, mountPath: /etc/barbican/vault, readOnly: true}
{{- end }}
{{- end }}

{{- define "barbican.stores" -}}
- name: kek
  secret: {secretName: {{ include "lib.text" .Values.secrets.kek }}, defaultMode: 0400}
{{- with .Values.secrets.vault_ca }}
{{- if .name }}
- name: vault-ca
  secret:
    secretName: {{ include "lib.text" .name }}
    defaultMode: 0400
    items: [{key: {{ include "lib.text" .key }}, path: ca.crt}]
{{- end }}
{{- end }}
{{- end }}
