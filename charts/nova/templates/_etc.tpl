{{- define "nova.etc" -}}
{{- $computed := include "nova.conf" . | fromYaml }}
{{- $conf := include "lib.oslo_conf" (mergeOverwrite $computed (deepCopy .Values.conf.nova)) }}
{{- with .Values.secrets.conf.nova }}
{{- /* The digest in the file restarts the pods when a sensitive option changes. */}}
{{- $conf = printf "# sensitive options: Secret %s, version %s\n%s" .name .digest $conf }}
{{- end }}
nova.conf: {{ $conf | toJson }}
logging.conf: {{ include "lib.oslo_conf" .Values.conf.logging | toJson }}
nova-api-uwsgi.ini: {{ include "lib.oslo_conf" .Values.conf.nova_api_uwsgi | toJson }}
nova-metadata-uwsgi.ini: {{ include "lib.oslo_conf" .Values.conf.nova_metadata_uwsgi | toJson }}
sshd_config: {{ include "nova.ssh_conf" .Values.conf.sshd | toJson }}
ssh_config: {{ printf "Host *\n%s" (include "nova.ssh_conf" .Values.conf.ssh) | toJson }}
{{- end }}

{{/* Options derived from other values; conf.nova overrides them. */}}
{{- define "nova.conf" -}}
{{- $e := .Values.endpoints }}
vnc:
  novncproxy_base_url: {{ printf "%s/vnc_auto.html" (include "lib.endpoint_url" (list . "compute_novnc_proxy" "public" "novnc_proxy")) | toJson }}
  novncproxy_port: {{ $e.compute_novnc_proxy.port.novnc_proxy.default }}
  {{- if .Values.secrets.tls.novncproxy }}
  auth_schemes: vencrypt
  vencrypt_client_cert: /run/secrets/novncproxy-tls/tls.crt
  vencrypt_client_key: /run/secrets/novncproxy-tls/tls.key
  vencrypt_ca_certs: /run/secrets/novncproxy-tls/ca.crt
  {{- end }}
# The process is root already, so the helper needs no sudo; it reads the same files as nova-compute.
{{- range list "nova_sys_admin" "vif_plug_ovs_privileged" "vif_plug_linux_bridge_privileged" "privsep_osbrick" }}
{{ . }}:
  helper_command: {{ printf "privsep-helper %s" (include "nova.compute_arguments" $ | fromYamlArray | join " ") }}
{{- end }}
{{- end }}

{{/* Directories of nova-compute's configuration: of all nodes, from Secrets, of this node. */}}
{{- define "nova.compute_arguments" -}}
[--config-file, /etc/nova/nova.conf, --config-dir, /etc/nova/nova.conf.d, --config-dir, /etc/nova/node.d]
{{- end }}

{{/* nova.ssh_conf: {Option: value} to OpenSSH's lines. */}}
{{- define "nova.ssh_conf" -}}
{{- range $option, $value := . }}
{{- if not (kindIs "invalid" $value) }}{{ include "lib.oslo_conf.name" (list "option" $option) }} {{ if kindIs "bool" $value }}{{ ternary "yes" "no" $value }}{{ else }}{{ include "lib.line" (list $option (include "lib.scalar" $value)) }}{{ end }}
{{ end }}
{{- end }}
{{- end }}

{{/* Files of every Nova process. nova.conf.d is a default directory of oslo.config, read after nova.conf. */}}
{{- define "nova.mounts" -}}
- {name: etc, mountPath: /etc/nova/nova.conf, subPath: nova.conf, readOnly: true}
- {name: etc, mountPath: /etc/nova/logging.conf, subPath: logging.conf, readOnly: true}
- {name: snippets, mountPath: /etc/nova/nova.conf.d, readOnly: true}
{{- end }}

{{/*
nova.snippets (root, parts…): the volume with the parts of the configuration that are in Secrets. Each process gets only
the parts that it needs; compute nodes have no credentials of databases. root owns the files; only the group (fsGroup) of
the nova user may read them.
*/}}
{{- define "nova.snippets" -}}
{{- $root := index . 0 -}}
{{- $s := $root.Values.secrets -}}
{{- $parts := dict
      "database" (list $s.oslo_db.nova "database.conf" "database.conf")
      "api_database" (list $s.oslo_db.nova_api "database.conf" "api-database.conf")
      "messaging" (list $s.oslo_messaging.nova "messaging.conf" "messaging.conf")
      "notifications" (list $s.oslo_messaging.notifications "notifications.conf" "notifications.conf")
      "token" (list $s.identity.nova "keystone_authtoken.conf" "keystone_authtoken.conf")
      "auth" (list $s.identity.nova "auth.conf" "auth.conf")
      "metadata_proxy" (list $s.metadata_proxy "nova.conf" "metadata-proxy.conf")
      "rbd" (list $s.ceph.nova "rbd.conf" "rbd.conf") -}}
- name: snippets
  projected:
    defaultMode: 0400
    sources:
      {{- range rest . }}
      {{- $part := get $parts . }}
      {{- with first $part }}
      - secret:
          name: {{ include "lib.text" . }}
          items: [{key: {{ include "lib.text" (index $part 1) }}, path: {{ include "lib.text" (index $part 2) }}}]
      {{- end }}
      {{- end }}
      {{- with $s.conf.nova }}
      - secret:
          name: {{ include "lib.text" .name }}
          items: [{key: overrides.conf, path: zz-overrides.conf}]
      {{- end }}
{{- end }}

{{/* An init container for processes that read the databases at their start. */}}
{{- define "nova.wait_for_schema" -}}
- name: wait-for-schema
  image: nova
  command: [python3, /opt/stackwright/wait-for-schema.py]
  volumeMounts:
    - {name: bin, mountPath: /opt/stackwright, readOnly: true}
    - {name: snippets, mountPath: /etc/nova/nova.conf.d, readOnly: true}
{{- end }}

{{/* nova.wait_for_placement (image key): an init container for processes that query Placement at their start. */}}
{{- define "nova.wait_for_placement" -}}
- name: wait-for-placement
  image: {{ include "lib.text" . }}
  {{- if eq . "nova_compute" }}
  # It restores the node's identity.
  command: [python3, /opt/stackwright/wait-for-placement.py, /var/lib/nova/compute_id]
  # root in that pod, with the capability to read folders of the user nova in the image.
  security: {capabilities: {drop: [ALL], add: [DAC_OVERRIDE]}}
  env:
    - name: NODE_NAME
      valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
  {{- else }}
  command: [python3, /opt/stackwright/wait-for-placement.py]
  {{- end }}
  volumeMounts:
    - {name: bin, mountPath: /opt/stackwright, readOnly: true}
    - {name: etc, mountPath: /etc/nova/nova.conf, subPath: nova.conf, readOnly: true}
    - {name: snippets, mountPath: /etc/nova/nova.conf.d, readOnly: true}
    {{- if eq . "nova_compute" }}
    - {name: nova, mountPath: /var/lib/nova}
    {{- end }}
{{- end }}
