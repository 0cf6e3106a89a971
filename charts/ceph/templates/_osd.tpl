{{- define "ceph.osd" -}}
name: ceph-osd
component: osd
configmaps: [etc, bin]
# An unavailable OSD may have the only copy: the drain of its node must wait until it has returned.
unhealthyPodEvictionPolicy: IfHealthyBudget
claim: ceph-osd-data
headless:
  name: ceph-osd
  notReady: true
containers:
  - name: osd
    image: ceph
    command: [/opt/stackwright/osd.sh]
    env:
      {{- include "ceph.env" . | nindent 6 }}
      - {name: OSD_SIZE, value: {{ .Values.osd.size | quote }}}
    probes:
      {{- include "lib.asked" (list (list "/opt/stackwright/ready.sh" "osd") 9) | nindent 6 }}
    volumeMounts:
      - {name: ceph-osd-data, mountPath: /var/lib/ceph}
      {{- include "ceph.mounts" . | nindent 6 }}
volumes:
  {{- include "ceph.volumes" . | nindent 2 }}
{{- end }}
