{{- define "provisioner.agent" -}}
name: local-volume-provisioner
component: provisioner
# It watches claims and makes PersistentVolumes.
token: true
# Root, because a new directory must be given to the group of whoever mounts it; with these three rights and no other.
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
      # The same path inside and outside: it is what the PersistentVolumes say.
      - {name: volumes, mountPath: {{ include "lib.text" .Values.volumes.path }}}
volumes:
  - name: volumes
    hostPath: {path: {{ include "lib.text" .Values.volumes.path }}, type: DirectoryOrCreate}
{{- end }}
