{{- define "nova.compute" -}}
{{- $arguments := include "nova.compute_arguments" . | fromYamlArray -}}
name: nova-compute
component: compute
configmaps: [etc, bin]
# In the node's network, which has the consoles, migrations and taps of virtual machines.
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
security: {runAsNonRoot: false, runAsUser: 0, runAsGroup: 0}
initContainers:
  - name: node
    image: nova_compute
    command: [/opt/stackwright/compute-init.sh]
    # root, with the capability to read folders of the user nova in the image.
    security: {capabilities: {drop: [ALL], add: [DAC_OVERRIDE]}}
    env:
      - name: NODE_NAME
        valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
      {{- include "nova.address" . | nindent 6 }}
      - {name: INTERFACE, value: {{ .Values.conf.live_migration_interface | default "" | quote }}}
      - {name: VCPU_TYPE, value: {{ include "lib.line" (list "conf.vcpu_type" (.Values.conf.vcpu_type | default "")) | quote }}}
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: node, mountPath: /etc/nova/node.d}
      - {name: ssh, mountPath: /etc/nova-ssh, readOnly: true}
      - {name: run-libvirt, mountPath: /run/libvirt, readOnly: true}
      - {name: nova, mountPath: /var/lib/nova}
  {{- include "nova.wait_for_placement" "nova_compute" | nindent 2 }}
containers:
  - name: nova-compute
    image: nova_compute
    # -P excludes the script's folder from the module search: modules of Nova could have the names of our scripts.
    command: {{ concat (list "python3" "-P" "/opt/stackwright/compute.py") $arguments | toJson }}
    # It mounts file systems of volumes, creates taps and reads consoles of virtual machines, through helpers that drop to
    # the capabilities that they need. Access to libvirt's socket is equivalent to root on the node anyway.
    security: {privileged: true, allowPrivilegeEscalation: true, capabilities: null}
    probes:
      # No liveness probe; see nova.worker.
      {{- include "nova.connected" . | nindent 6 }}
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: etc, mountPath: /etc/ssh/ssh_config.d/nova.conf, subPath: ssh_config, readOnly: true}
      - {name: ssh, mountPath: /etc/nova-ssh, readOnly: true}
      - {name: node, mountPath: /etc/nova/node.d, readOnly: true}
      - {name: run-libvirt, mountPath: /run/libvirt}
      - {name: run-openvswitch, mountPath: /run/openvswitch}
      - {name: libvirt, mountPath: /var/lib/libvirt}
      - {name: dev-pts, mountPath: /dev/pts}
      # libvirt also uses the volumes that Nova mounts here.
      - {name: nova, mountPath: /var/lib/nova, mountPropagation: Bidirectional}
      {{- if .Values.secrets.ceph.nova }}
      - {name: ceph, mountPath: /etc/ceph, readOnly: true}
      {{- end }}
      {{- include "nova.mounts" . | nindent 6 }}
  - name: nova-compute-ssh
    image: nova_compute
    resources: compute-ssh
    command: [/opt/stackwright/sshd.sh]
    # sshd separates its privileges and writes disks as root; the disks are all that it sees of the node.
    security:
      capabilities: {drop: [ALL], add: [CHOWN, DAC_OVERRIDE, FOWNER, SETGID, SETUID, SYS_CHROOT]}
    env:
      {{- include "nova.address" . | nindent 6 }}
    ports:
      - {name: ssh, containerPort: 8022}
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: etc, mountPath: /etc/nova/sshd_config, subPath: sshd_config, readOnly: true}
      - {name: ssh, mountPath: /etc/nova-ssh, readOnly: true}
      - {name: run, mountPath: /run}
      - {name: nova, mountPath: /var/lib/nova}
volumes:
  - name: node
    emptyDir: {}
  - name: run
    emptyDir: {medium: Memory}
  - name: ssh
    secret: {secretName: {{ include "lib.text" .Values.secrets.ssh }}, defaultMode: 0400}
  {{- with .Values.secrets.ceph.nova }}
  # For disks in Ceph: librbd in this process, and the programs ceph and rbd that it starts.
  - name: ceph
    secret:
      secretName: {{ include "lib.text" . }}
      defaultMode: 0400
      items: [{key: ceph.conf, path: ceph.conf}, {key: keyring, path: keyring}]
  {{- end }}
  {{- $paths := dict "run-libvirt" "/run/libvirt" "run-openvswitch" "/run/openvswitch" "libvirt" "/var/lib/libvirt" "nova" "/var/lib/nova" "dev-pts" "/dev/pts" }}
  {{- range $name, $path := $paths }}
  - name: {{ include "lib.text" $name }}
    hostPath: {path: {{ include "lib.text" $path }}, type: DirectoryOrCreate}
  {{- end }}
  {{- include "nova.snippets" (list . "messaging" "notifications" "auth" "rbd") | nindent 2 }}
{{- end }}

{{- define "nova.address" -}}
- name: ADDRESS
  valueFrom: {fieldRef: {fieldPath: status.hostIP}}
{{- end }}
