{{- define "designate.etc" -}}
{{- $conf := include "lib.oslo_conf" .Values.conf.designate }}
{{- with .Values.secrets.conf.designate }}
{{- /* The digest in the file restarts the pods when a sensitive option changes. */}}
{{- $conf = printf "# sensitive options: Secret %s, version %s\n%s" .name .digest $conf }}
{{- end }}
designate.conf: {{ $conf | toJson }}
logging.conf: {{ include "lib.oslo_conf" .Values.conf.logging | toJson }}
designate-api-uwsgi.ini: {{ include "lib.uwsgi_conf" (list .Values.conf.designate_api_uwsgi "designate.api.wsgi" "designate.api.v2") | toJson }}
pool.json: {{ include "designate.pool_conf" . | fromYaml | toJson | quote }}
{{- end }}

{{/* What the Job `pool` writes to the database. pool.py adds the address of `mdns` and the key of PowerDNS' API. */}}
{{- define "designate.pool_conf" -}}
{{- $e := .Values.endpoints -}}
{{- $names := include "designate.host" (list . $e.powerdns) -}}
ns_records: {{ .Values.conf.pool.ns_records | toJson }}
name_server: {{ $names | toJson }}
port: {{ $e.powerdns.port.dns.default }}
api: {{ printf "http://%s:%d" $names (int $e.powerdns.port.api.default) | toJson }}
mdns: {{ include "designate.host" (list . $e.mdns) | toJson }}
mdns_port: {{ $e.mdns.port.dns.default }}
{{- end }}

{{/* designate.host (root, endpoint): the name of a Service in this namespace. */}}
{{- define "designate.host" -}}
{{- $root := index . 0 -}}
{{ printf "%s.%s.svc.%s" (index . 1).hosts.default $root.Release.Namespace $root.Values.endpoints.cluster_domain_suffix }}
{{- end }}

{{/* The files of every process. designate.conf.d is a default directory of oslo.config, read after designate.conf. */}}
{{- define "designate.mounts" -}}
- {name: bin, mountPath: /opt/stackwright, readOnly: true}
- {name: etc, mountPath: /etc/designate/designate.conf, subPath: designate.conf, readOnly: true}
- {name: etc, mountPath: /etc/designate/logging.conf, subPath: logging.conf, readOnly: true}
- {name: etc, mountPath: /etc/designate/pool.json, subPath: pool.json, readOnly: true}
- {name: snippets, mountPath: /etc/designate/designate.conf.d, readOnly: true}
{{- end }}

{{/* The certificate for etcd. A directory, so that new certificates arrive without a restart. */}}
{{- define "designate.locks_mount" -}}
{{- if .Values.secrets.tls.etcd -}}
- {name: locks, mountPath: /etc/designate/etcd, readOnly: true}
{{- end }}
{{- end }}

{{- define "designate.locks" -}}
{{- with .Values.secrets.tls.etcd -}}
- name: locks
  secret: {secretName: {{ include "lib.text" . }}, defaultMode: 0400}
{{- end }}
{{- end }}

{{/* The key of PowerDNS' API. */}}
{{- define "designate.key_mount" -}}
- {name: powerdns, mountPath: /run/secrets/powerdns, readOnly: true}
{{- end }}

{{- define "designate.key" -}}
- name: powerdns
  secret:
    secretName: {{ include "lib.text" .Values.secrets.powerdns }}
    defaultMode: 0400
    items: [{key: key, path: key}]
{{- end }}

{{/*
designate.snippets (root, parts…): the volume with the parts of the configuration that are in Secrets. Each process gets only
the parts that it needs. root owns the files; only the group (fsGroup) of the designate user may read them.
*/}}
{{- define "designate.snippets" -}}
{{- $root := index . 0 -}}
{{- $s := $root.Values.secrets -}}
{{- $parts := dict
      "database" (list $s.oslo_db.designate "database.conf")
      "messaging" (list $s.oslo_messaging.designate "messaging.conf")
      "token" (list $s.identity.designate "keystone_authtoken.conf") -}}
- name: snippets
  projected:
    defaultMode: 0400
    sources:
      {{- range slice . 1 }}
      {{- $part := get $parts . }}
      - secret:
          name: {{ include "lib.text" (first $part) }}
          items: [{key: {{ include "lib.text" (last $part) }}, path: {{ include "lib.text" (last $part) }}}]
      {{- end }}
      {{- with $s.conf.designate }}
      - secret:
          name: {{ include "lib.text" .name }}
          items: [{key: overrides.conf, path: zz-overrides.conf}]
      {{- end }}
{{- end }}
