{{/*
neutron.agent (root, {component, program, files, switch, lasting, ovn, snippets}): an agent of the node.
  files     configuration files besides neutron.conf
  switch    it moves interfaces between the node's namespaces and its switch, as root in the node's network
  ovn       it uses OVN's databases
  lasting   it starts processes that outlive it (bin/outlive.sh)
  snippets  further (Secret, key, path)
*/}}
{{- define "neutron.agent" -}}
{{- $root := index . 0 -}}
{{- $a := index . 1 -}}
name: neutron-{{ $a.component }}
component: {{ include "lib.text" $a.component }}
configmaps: [etc, bin]
hostNetwork: true
# The agent finds processes of its earlier pods by their PIDs.
hostPID: {{ $a.lasting | default false }}
security: {runAsNonRoot: false, runAsUser: 0, runAsGroup: 0}
containers:
  - name: neutron-{{ $a.component }}
    image: neutron_{{ $a.component | replace "-" "_" }}
    command: [/opt/stackwright/agent.sh, {{ $a.program }}]
    args:
      - --config-file=/etc/neutron/neutron.conf
      {{- range $a.files }}
      - --config-file=/etc/neutron/{{ . }}
      {{- end }}
      - --config-dir=/etc/neutron/neutron.conf.d
    {{- if $a.switch }}
    security: {privileged: true, allowPrivilegeEscalation: true, capabilities: null}
    {{- else }}
    # root, because its socket is in a folder of the node; with the capability to read folders of the user neutron in the image.
    security: {capabilities: {drop: [ALL], add: [DAC_OVERRIDE]}}
    {{- end }}
    env:
      - name: NODE_NAME
        valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
      - {name: SWITCH, value: {{ ternary "yes" "" ($a.switch | default false) | quote }}}
    volumeMounts:
      {{- include "neutron.mounts" $root | nindent 6 }}
      {{- range $a.files }}
      - {name: etc, mountPath: {{ include "lib.text" (printf "/etc/neutron/%s" .) }}, subPath: {{ include "lib.text" . }}, readOnly: true}
      {{- end }}
      {{- if $a.switch }}
      - {name: run-openvswitch, mountPath: /run/openvswitch}
      # The namespaces of one pod must be visible to the node and all other pods, and must outlive the pod.
      - {name: netns, mountPath: /run/netns, mountPropagation: Bidirectional}
      {{- end }}
      {{- if $a.ovn }}
      {{- include "neutron.ovn_mount" $root | nindent 6 }}
      {{- end }}
      - {name: state, mountPath: /var/lib/neutron}
      {{- if $a.lasting }}
      - {name: cgroup, mountPath: /host/cgroup}
      {{- end }}
volumes:
  {{- include "neutron.agent_volumes" (prepend ($a.snippets | default list) $root) | nindent 2 }}
  {{- if $a.ovn }}
  {{- include "neutron.ovn_volume" $root | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "neutron.ovs_agent" -}}
{{ include "neutron.agent" (list . (dict "component" "ovs-agent" "program" "neutron-openvswitch-agent" "files" (list "openvswitch_agent.ini") "switch" true)) }}
{{- end }}

{{- define "neutron.dhcp_agent" -}}
{{ include "neutron.agent" (list . (dict "component" "dhcp-agent" "program" "neutron-dhcp-agent" "files" (list "dhcp_agent.ini") "switch" true "lasting" true)) }}
{{- end }}

{{- define "neutron.l3_agent" -}}
{{ include "neutron.agent" (list . (dict "component" "l3-agent" "program" "neutron-l3-agent" "files" (list "l3_agent.ini") "switch" true "lasting" true)) }}
{{- end }}

{{- define "neutron.metadata_agent" -}}
{{- $secret := list .Values.secrets.metadata "metadata.conf" "" -}}
{{ include "neutron.agent" (list . (dict "component" "metadata-agent" "program" "neutron-metadata-agent" "files" (list "metadata_agent.ini") "snippets" (list $secret))) }}
{{- end }}

{{- define "neutron.ovn_metadata_agent" -}}
{{- $secret := list .Values.secrets.metadata "metadata.conf" "" -}}
{{ include "neutron.agent" (list . (dict "component" "ovn-metadata-agent" "program" "neutron-ovn-metadata-agent" "files" (list "ovn_metadata_agent.ini") "switch" true "lasting" true "ovn" true "snippets" (list $secret))) }}
{{- end }}
