{{- define "glance.etc" -}}
{{- $computed := include "glance.store" . | fromYaml }}
{{- $conf := include "lib.oslo_conf" (mergeOverwrite $computed (deepCopy .Values.conf.glance)) }}
{{- with .Values.secrets.conf.glance }}
{{- /* The digest in the file restarts the pods when a sensitive option changes. */}}
{{- $conf = printf "# sensitive options: Secret %s, version %s\n%s" .name .digest $conf }}
{{- end }}
glance-api.conf: {{ $conf | toJson }}
glance-api-uwsgi.ini: {{ include "lib.uwsgi_conf" (list .Values.conf.glance_api_uwsgi "glance.common.wsgi_app" "glance.api.v2.router") | toJson }}
logging.conf: {{ include "lib.oslo_conf" .Values.conf.logging | toJson }}
{{- end }}

{{/*
Options derived from other values; conf.glance overrides them. The store on the volume is one of several stores, each a
section of the same name.
*/}}
{{- define "glance.store" -}}
{{- with .Values.volume.store }}
DEFAULT: {enabled_backends: [{{ printf "%s:file" . | quote }}]}
glance_store: {default_backend: {{ . | quote }}}
{{ . | quote }}: {filesystem_store_datadir: /var/lib/glance/images}
{{- end }}
{{- if .Values.secrets.ceph.cinder }}
# Before os-brick opens a volume through librbd, it queries data that only other types of volumes need, by a helper for
# root. Here the helper runs as the glance user without capabilities, which suffices for RBD.
privsep_osbrick:
  capabilities: ","
  helper_command: privsep-helper --config-file /etc/glance/glance-api.conf
{{- end }}
{{- end }}

{{/* Files of every Glance process. glance.conf.d is a default directory of oslo.config, read after glance-api.conf. */}}
{{- define "glance.mounts" -}}
- {name: etc, mountPath: /etc/glance/glance-api.conf, subPath: glance-api.conf, readOnly: true}
- {name: etc, mountPath: /etc/glance/logging.conf, subPath: logging.conf, readOnly: true}
- {name: snippets, mountPath: /etc/glance/glance.conf.d, readOnly: true}
{{- end }}

{{/*
glance.volumes (root, parts…): the snippets of every process, and those of the named parts. root owns the files; only the
group (fsGroup) of the glance user may read them.
*/}}
{{- define "glance.volumes" -}}
{{- $s := (index . 0).Values.secrets -}}
- name: snippets
  projected:
    defaultMode: 0400
    sources:
      - secret:
          name: {{ include "lib.text" $s.oslo_db.glance }}
          items: [{key: database.conf, path: database.conf}]
      - secret:
          name: {{ include "lib.text" $s.identity.glance }}
          items: [{key: keystone_authtoken.conf, path: keystone_authtoken.conf}]
      {{- with $s.oslo_messaging.notifications }}
      - secret:
          name: {{ include "lib.text" . }}
          items: [{key: notifications.conf, path: notifications.conf}]
      {{- end }}
      {{- if and (has "rbd" .) $s.ceph.glance }}
      - secret:
          name: {{ include "lib.text" $s.ceph.glance }}
          items: [{key: rbd.conf, path: rbd.conf}]
      {{- end }}
      {{- with $s.conf.glance }}
      - secret:
          name: {{ include "lib.text" .name }}
          items: [{key: overrides.conf, path: zz-overrides.conf}]
      {{- end }}
{{- end }}
