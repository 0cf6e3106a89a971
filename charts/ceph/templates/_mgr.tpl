{{- define "ceph.mgr" -}}
name: ceph-mgr
component: mgr
configmaps: [etc, bin]
# A second daemon of the same name would replace the first, and the first the second.
strategy: {type: Recreate}
containers:
  - name: mgr
    image: ceph
    command: [/opt/stackwright/mgr.sh]
    env:
      {{- include "ceph.env" . | nindent 6 }}
    probes:
      {{- include "lib.asked" (list (list "/opt/stackwright/ready.sh" "mgr") 9) | nindent 6 }}
    volumeMounts:
      {{- include "ceph.mounts" . | nindent 6 }}
volumes:
  {{- include "ceph.volumes" . | nindent 2 }}
{{- end }}
