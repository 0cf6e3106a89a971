{{- define "neutron.etc" -}}
{{- $conf := include "lib.oslo_conf" .Values.conf.neutron }}
{{- with .Values.secrets.conf.neutron }}
{{- /* The digest in the file restarts the pods when a sensitive option changes. */}}
{{- $conf = printf "# sensitive options: Secret %s, version %s\n%s" .name .digest $conf }}
{{- end }}
{{- $metadata := dict "nova_metadata_host" (include "lib.endpoint_host" (list . "compute_metadata" "internal")) "nova_metadata_port" (include "lib.endpoint_value" (list .Values.endpoints.compute_metadata.port.metadata "internal")) -}}
neutron.conf: {{ $conf | toJson }}
logging.conf: {{ include "lib.oslo_conf" .Values.conf.logging | toJson }}
neutron-api-uwsgi.ini: {{ include "lib.uwsgi_conf" (list .Values.conf.neutron_api_uwsgi "neutron.cmd.server" "neutron.plugins.ml2.plugin") | toJson }}
ml2_conf.ini: {{ include "lib.oslo_conf" .Values.conf.plugins.ml2_conf | toJson }}
openvswitch_agent.ini: {{ include "lib.oslo_conf" .Values.conf.plugins.openvswitch_agent | toJson }}
dhcp_agent.ini: {{ include "lib.oslo_conf" .Values.conf.dhcp_agent | toJson }}
l3_agent.ini: {{ include "lib.oslo_conf" .Values.conf.l3_agent | toJson }}
metadata_agent.ini: {{ include "lib.oslo_conf" (mergeOverwrite (dict "DEFAULT" $metadata) (deepCopy .Values.conf.metadata_agent)) | toJson }}
ovn_metadata_agent.ini: {{ include "lib.oslo_conf" (mergeOverwrite (dict "DEFAULT" (deepCopy $metadata)) (deepCopy .Values.conf.ovn_metadata_agent)) | toJson }}
{{- end }}

{{/* Files of every process. neutron.conf.d is a default directory of oslo.config, read after neutron.conf. */}}
{{- define "neutron.mounts" -}}
- {name: etc, mountPath: /etc/neutron/neutron.conf, subPath: neutron.conf, readOnly: true}
- {name: etc, mountPath: /etc/neutron/logging.conf, subPath: logging.conf, readOnly: true}
- {name: snippets, mountPath: /etc/neutron/neutron.conf.d, readOnly: true}
- {name: bin, mountPath: /opt/stackwright, readOnly: true}
{{- end }}

{{/* The certificate for connections to OVN's databases. */}}
{{- define "neutron.ovn_mount" -}}
{{- if .Values.secrets.tls.ovn }}
- {name: ovn-tls, mountPath: /run/secrets/ovn-tls, readOnly: true}
{{- end }}
{{- end }}

{{- define "neutron.ovn_volume" -}}
{{- with .Values.secrets.tls.ovn }}
- name: ovn-tls
  secret:
    secretName: {{ include "lib.text" . }}
    defaultMode: 0400
{{- end }}
{{- end }}

{{/* Further files of servers, and a folder for their locks. */}}
{{- define "neutron.server_mounts" -}}
{{ include "neutron.mounts" . }}
{{- include "neutron.ovn_mount" . }}
- {name: etc, mountPath: /etc/neutron/plugins/ml2/ml2_conf.ini, subPath: ml2_conf.ini, readOnly: true}
- {name: state, mountPath: /var/lib/neutron}
{{- end }}

{{/* neutron.secret (Secret, key): one of the snippets. */}}
{{- define "neutron.secret" -}}
- secret:
    name: {{ include "lib.text" (index . 0) }}
    items: [{key: {{ include "lib.text" (index . 1) }}, path: {{ include "lib.text" (index . 2 | default (index . 1)) }}}]
{{- end }}

{{/* root owns the files; only the group (fsGroup) of the neutron user may read them. */}}
{{- define "neutron.server_volumes" -}}
{{- include "neutron.ovn_volume" . }}
- name: state
  emptyDir: {}
- name: snippets
  projected:
    defaultMode: 0400
    sources:
      {{- include "neutron.secret" (list .Values.secrets.oslo_db.neutron "database.conf" "") | nindent 6 }}
      {{- include "neutron.secret" (list .Values.secrets.oslo_messaging.neutron "messaging.conf" "") | nindent 6 }}
      {{- with .Values.secrets.oslo_messaging.notifications }}
      {{- include "neutron.secret" (list . "notifications.conf" "") | nindent 6 }}
      {{- end }}
      {{- include "neutron.secret" (list .Values.secrets.identity.neutron "keystone_authtoken.conf" "") | nindent 6 }}
      {{- include "neutron.secret" (list .Values.secrets.identity.neutron "auth.conf" "") | nindent 6 }}
      {{- with .Values.secrets.conf.neutron }}
      {{- include "neutron.secret" (list .name "overrides.conf" "zz-overrides.conf") | nindent 6 }}
      {{- end }}
{{- end }}

{{/* neutron.agent_volumes (root, further snippets): agents have credentials of the bus, not of the database or Keystone. */}}
{{- define "neutron.agent_volumes" -}}
{{- $root := index . 0 -}}
- name: snippets
  projected:
    defaultMode: 0400
    sources:
      {{- include "neutron.secret" (list $root.Values.secrets.oslo_messaging.neutron "messaging.conf" "") | nindent 6 }}
      {{- range slice . 1 }}
      {{- include "neutron.secret" . | nindent 6 }}
      {{- end }}
      {{- with $root.Values.secrets.conf.neutron }}
      {{- include "neutron.secret" (list .name "overrides.conf" "zz-overrides.conf") | nindent 6 }}
      {{- end }}
- name: run-openvswitch
  hostPath: {path: /run/openvswitch, type: DirectoryOrCreate}
- name: netns
  hostPath: {path: /run/netns, type: DirectoryOrCreate}
- name: state
  hostPath: {path: /var/lib/neutron, type: DirectoryOrCreate}
- name: cgroup
  hostPath: {path: /sys/fs/cgroup, type: Directory}
{{- end }}
