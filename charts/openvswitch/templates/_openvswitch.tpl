{{- define "openvswitch.agent" -}}
name: openvswitch
component: openvswitch
configmaps: [etc, bin]
# The switch of the node, with access to its interfaces, kernel module and namespaces.
hostNetwork: true
security: {runAsNonRoot: false, runAsUser: 0, runAsGroup: 0}
containers:
  - name: ovsdb-server
    image: openvswitch_db_server
    command: [/opt/stackwright/database.sh]
    resources: ovsdb-server
    env:
      {{- include "openvswitch.env" . | nindent 6 }}
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: run-openvswitch, mountPath: /run/openvswitch}
  - name: vswitchd
    image: openvswitch_vswitchd
    command: [/opt/stackwright/vswitchd.sh]
    resources: vswitchd
    security: {privileged: true, allowPrivilegeEscalation: true, capabilities: null}
    env:
      {{- include "openvswitch.env" . | nindent 6 }}
    probes:
      # The probe ends with its first success; after that, the end of vswitchd ends the container. Each start creates the file.
      startup:
        exec: {command: [test, -e, /tmp/ready]}
        periodSeconds: 1
        timeoutSeconds: 5
        failureThreshold: 120
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: etc, mountPath: /etc/openvswitch, readOnly: true}
      - {name: run-openvswitch, mountPath: /run/openvswitch}
      - {name: modules, mountPath: /lib/modules, readOnly: true}
      # Makes namespaces visible that agents create after the start of this container.
      - {name: netns, mountPath: /run/netns, mountPropagation: HostToContainer}
volumes:
  - name: run-openvswitch
    hostPath: {path: /run/openvswitch, type: DirectoryOrCreate}
  - name: netns
    hostPath: {path: /run/netns, type: DirectoryOrCreate}
  - name: modules
    hostPath: {path: /lib/modules, type: DirectoryOrCreate}
{{- end }}

{{- define "openvswitch.env" -}}
- name: NODE_NAME
  valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
- name: NODE_IP
  valueFrom: {fieldRef: {fieldPath: status.hostIP}}
{{- end }}

{{/* Input of bin/vswitchd.sh. */}}
{{- define "openvswitch.etc" -}}
{{- $bridges := list }}
{{- range .Values.conf.bridges }}{{ $bridges = append $bridges (printf "%s:%s" .bridge (.interface | default "")) }}{{ end }}
node.conf: |
  DATAPATH={{ include "lib.shell_word" (list "conf.datapath" .Values.conf.datapath) }}
  TUNNEL_INTERFACE={{ include "lib.shell_word" (list "conf.tunnel_interface" (.Values.conf.tunnel_interface | default "")) }}
  BRIDGES="{{ include "lib.shell_words" (list "conf.bridges" $bridges " ") }}"
{{- end }}
