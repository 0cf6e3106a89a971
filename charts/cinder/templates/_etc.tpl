{{- define "cinder.etc" -}}
{{- $computed := include "cinder.conf" . | fromYaml }}
{{- $conf := include "lib.oslo_conf" (mergeOverwrite $computed (deepCopy .Values.conf.cinder)) }}
{{- with .Values.secrets.conf.cinder }}
{{- /* The digest in the file restarts the pods when a sensitive option changes. */}}
{{- $conf = printf "# sensitive options: Secret %s, version %s\n%s" .name .digest $conf }}
{{- end }}
cinder.conf: {{ $conf | toJson }}
logging.conf: {{ include "lib.oslo_conf" .Values.conf.logging | toJson }}
cinder-api-uwsgi.ini: {{ include "lib.uwsgi_conf" (list .Values.conf.cinder_api_uwsgi "api_modules") | toJson }}
{{- end }}

{{/* Options derived from other values: a section per back end, of the same name. conf.cinder overrides them. */}}
{{- define "cinder.conf" -}}
{{- $backends := dict }}
{{- range $name, $options := .Values.conf.backends }}
{{- if $options }}{{ $_ := set $backends $name (merge (deepCopy $options) (dict "volume_backend_name" $name)) }}{{ end }}
{{- end }}
{{- $default := dict }}
{{- with keys $backends }}{{ $_ := set $default "enabled_backends" (sortAlpha .) }}{{ end }}
{{- with .Values.bootstrap.default_type }}{{ $_ := set $default "default_volume_type" . }}{{ end }}
{{- toYaml (set $backends "DEFAULT" $default) }}
{{- end }}

{{/* cinder.mounts (root, parts…): the files of every process, and those of the parts `locks` and `ceph` if named. */}}
{{- define "cinder.mounts" -}}
{{- $s := (index . 0).Values.secrets -}}
- {name: bin, mountPath: /opt/stackwright, readOnly: true}
- {name: etc, mountPath: /etc/cinder/cinder.conf, subPath: cinder.conf, readOnly: true}
- {name: etc, mountPath: /etc/cinder/logging.conf, subPath: logging.conf, readOnly: true}
# A default directory of oslo.config, read after cinder.conf.
- {name: snippets, mountPath: /etc/cinder/cinder.conf.d, readOnly: true}
{{- if and (has "locks" .) $s.tls.etcd }}
- {name: locks, mountPath: /etc/cinder/etcd, readOnly: true}
{{- end }}
{{- if and (has "ceph" .) $s.ceph.cinder }}
- {name: ceph, mountPath: /etc/ceph, readOnly: true}
{{- end }}
{{- end }}

{{/*
cinder.volumes (root, parts…): `locks` is the certificate for etcd; `ceph` is /etc/ceph, with the key also under the name
that os-brick reads. Directories, so that new keys, monitors and certificates arrive without a restart.
*/}}
{{- define "cinder.volumes" -}}
{{- $root := index . 0 -}}
{{- $s := $root.Values.secrets -}}
{{- if and (has "locks" .) $s.tls.etcd -}}
- name: locks
  secret:
    secretName: {{ include "lib.text" $s.tls.etcd }}
    defaultMode: 0400
{{- end }}
{{- if and (has "ceph" .) $s.ceph.cinder }}
- name: ceph
  secret:
    secretName: {{ include "lib.text" $s.ceph.cinder }}
    defaultMode: 0400
    items:
      - {key: ceph.conf, path: ceph.conf}
      - {key: keyring, path: keyring}
      - {key: keyring, path: {{ include "lib.text" (printf "ceph.client.%s.keyring" $root.Values.conf.ceph.user) }}}
{{- end }}
{{- end }}

{{/*
cinder.snippets (root, parts…): the volume with the parts of the configuration that are in Secrets. Each process gets only
the parts that it needs. root owns the files; only the group (fsGroup) of the cinder user may read them.
*/}}
{{- define "cinder.snippets" -}}
{{- $root := index . 0 -}}
{{- $s := $root.Values.secrets -}}
{{- $parts := dict
      "database" (list $s.oslo_db.cinder "database.conf")
      "messaging" (list $s.oslo_messaging.cinder "messaging.conf")
      "notifications" (list $s.oslo_messaging.notifications "notifications.conf")
      "token" (list $s.identity.cinder "keystone_authtoken.conf")
      "auth" (list $s.identity.cinder "auth.conf")
      "ceph" (list $s.ceph.cinder "rbd.conf") -}}
- name: snippets
  projected:
    defaultMode: 0400
    sources:
      {{- range rest . }}
      {{- $part := get $parts . }}
      {{- with first $part }}
      - secret:
          name: {{ include "lib.text" . }}
          items: [{key: {{ include "lib.text" (last $part) }}, path: {{ include "lib.text" (last $part) }}}]
      {{- end }}
      {{- end }}
      {{- with $s.conf.cinder }}
      - secret:
          name: {{ include "lib.text" .name }}
          items: [{key: overrides.conf, path: zz-overrides.conf}]
      {{- end }}
{{- end }}

{{/* cinder.wait (root, image key, parts…): an init container; `parts` names what the process needs of `locks` and `ceph`. */}}
{{- define "cinder.wait" -}}
- name: wait
  image: {{ include "lib.text" (index . 1) }}
  command: {{ concat (list "python3" "/opt/stackwright/wait.py") (slice . 2) | toJson }}
  volumeMounts:
    {{- include "cinder.mounts" . | nindent 4 }}
{{- end }}
