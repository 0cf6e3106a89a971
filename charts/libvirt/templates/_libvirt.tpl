{{- define "libvirt.agent" -}}
{{- $tls := .Values.secrets.tls -}}
{{- $qemu := $tls.qemu | default $tls.libvirt -}}
name: libvirt
component: libvirt
configmaps: [etc, bin]
# The node's hypervisor: virtual machines are processes of the node (hostPID) and use its network, devices and disks. This
# access is equivalent to root on the node, so dropping single privileges would not limit it.
hostNetwork: true
hostPID: true
dnsPolicy: ClusterFirstWithHostNet
security: {runAsNonRoot: false, runAsUser: 0, runAsGroup: 0}
initContainers:
  # The operator reads its termination message: {"address", "virt_type", "reason"}.
  - name: kvm-check
    image: libvirt
    command: [/opt/stackwright/kvm-check.sh]
    # Only a privileged container can open /dev/kvm.
    security: &privileged {privileged: true, allowPrivilegeEscalation: true, capabilities: null}
    env:
      {{- include "libvirt.env" . | nindent 6 }}
      - {name: VIRT_TYPE, value: {{ .Values.conf.virt_type | default "" | quote }}}
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: run-libvirt, mountPath: /run/libvirt}
containers:
  - name: libvirt
    image: libvirt
    command: [/opt/stackwright/start.sh]
    # Not in /dev, which is mounted from the node.
    terminationMessagePath: /run/termination-log
    security: *privileged
    env:
      {{- include "libvirt.env" . | nindent 6 }}
      - {name: TLS, value: {{ ternary "/run/secrets/libvirt-tls" "" (not (empty $tls.libvirt)) | quote }}}
      - {name: QEMU_TLS, value: {{ ternary "/run/secrets/libvirt-qemu-tls" "" (not (empty $qemu)) | quote }}}
      - {name: QEMU_USER, value: {{ .Values.conf.qemu.user | default "root" | quote }}}
      - {name: QEMU_GROUP, value: {{ .Values.conf.qemu.group | default "root" | quote }}}
      - {name: CEPH, value: {{ keys .Values.secrets.ceph | sortAlpha | join " " | quote }}}
    probes:
      # libvirtd responds once it has found all running virtual machines.
      {{- include "lib.asked" (list (list "virsh" "--quiet" "--connect" "qemu:///system" "uri") 15 420) | nindent 6 }}
      # A restart affects no virtual machine, but would slow down an overloaded node further.
      liveness:
        exec: {command: [virsh, --quiet, --connect, "qemu:///system", uri]}
        periodSeconds: 30
        timeoutSeconds: 25
        failureThreshold: 10
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: etc, mountPath: /etc/stackwright, readOnly: true}
      {{- if $tls.libvirt }}
      - {name: tls, mountPath: /run/secrets/libvirt-tls, readOnly: true}
      {{- end }}
      {{- if $qemu }}
      - {name: qemu-tls, mountPath: /run/secrets/libvirt-qemu-tls, readOnly: true}
      {{- end }}
      {{- if .Values.secrets.ceph }}
      - {name: ceph, mountPath: /run/secrets/ceph, readOnly: true}
      {{- end }}
      - {name: dev, mountPath: /dev}
      - {name: cgroup, mountPath: /host/cgroup}
      - {name: run-libvirt, mountPath: /run/libvirt}
      - {name: run-openvswitch, mountPath: /run/openvswitch}
      - {name: libvirt, mountPath: /var/lib/libvirt}
      # Definitions, certificates, logs and libvirt's cache of QEMU's capabilities stay on the node.
      - {name: etc-libvirt, mountPath: /etc/libvirt}
      - {name: pki, mountPath: /etc/pki}
      - {name: log, mountPath: /var/log/libvirt}
      - {name: cache, mountPath: /var/cache/libvirt}
      # Disks. Nova mounts file systems of volumes below it after the start of this container.
      - {name: nova, mountPath: /var/lib/nova, mountPropagation: HostToContainer}
volumes:
  {{- with $tls.libvirt }}
  - name: tls
    secret: {secretName: {{ include "lib.text" . }}, defaultMode: 0400}
  {{- end }}
  {{- with $qemu }}
  - name: qemu-tls
    secret: {secretName: {{ include "lib.text" . }}, defaultMode: 0400}
  {{- end }}
  {{- with .Values.secrets.ceph }}
  - name: ceph
    projected:
      defaultMode: 0400
      sources:
        {{- range $client, $secret := . }}
        - secret:
            name: {{ include "lib.text" $secret }}
            optional: true
            items:
              {{- range list "key" "secret_uuid" }}
              - {key: {{ include "lib.text" . }}, path: {{ printf "%s/%s" $client . | quote }}}
              {{- end }}
        {{- end }}
  {{- end }}
  {{- $paths := dict "dev" "/dev" "cgroup" "/sys/fs/cgroup" "run-libvirt" "/run/libvirt" "run-openvswitch" "/run/openvswitch"
        "libvirt" "/var/lib/libvirt" "etc-libvirt" "/var/lib/libvirt/etc" "pki" "/var/lib/libvirt/pki" "log" "/var/lib/libvirt/log"
        "cache" "/var/lib/libvirt/cache" "nova" "/var/lib/nova" }}
  {{- range $name, $path := $paths }}
  - name: {{ include "lib.text" $name }}
    hostPath: {path: {{ include "lib.text" $path }}, type: DirectoryOrCreate}
  {{- end }}
{{- end }}

{{/* Environment variables: name and address of the node, and its interface for live migration. */}}
{{- define "libvirt.env" -}}
- name: NODE_NAME
  valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
- name: ADDRESS
  valueFrom: {fieldRef: {fieldPath: status.hostIP}}
- {name: INTERFACE, value: {{ .Values.conf.live_migration_interface | default "" | quote }}}
{{- end }}
