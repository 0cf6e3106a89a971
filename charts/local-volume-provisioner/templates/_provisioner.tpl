{{- define "provisioner.agent" -}}
name: local-volume-provisioner
component: provisioner
# It watches claims and creates PersistentVolumes.
token: true
# root, because a new directory must belong to the group of the pod that mounts it; with only these three capabilities.
security: {runAsNonRoot: false, runAsUser: 0, runAsGroup: 0}
containers:
  - name: provisioner
    image: stackwright
    args: [provisioner]
    security:
      capabilities: {drop: [ALL], add: [CHOWN, DAC_OVERRIDE, FOWNER]}
    env:
      - name: NODE_NAME
        valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
      - {name: VOLUMES_PATH, value: {{ include "lib.text" .Values.volumes.path }}}
      - {name: STORAGE_CLASS, value: {{ include "lib.text" .Values.storage_class.name }}}
      - {name: LOG_LEVEL, value: {{ include "lib.text" .Values.conf.log_level }}}
      - {name: PYTHONUNBUFFERED, value: "1"}
    volumeMounts:
      # The same path as on the node, because PersistentVolumes contain it.
      - {name: volumes, mountPath: {{ include "lib.text" .Values.volumes.path }}}
volumes:
  - name: volumes
    hostPath: {path: {{ include "lib.text" .Values.volumes.path }}, type: DirectoryOrCreate}
{{- end }}
