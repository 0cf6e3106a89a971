{{- define "glance.db_sync" -}}
name: glance-db-sync
component: db-sync
placement: job
configmaps: [etc, bin]
restartPolicy: OnFailure
containers:
  - name: db-sync
    image: glance_db_sync
    command: [python3, /opt/stackwright/db-sync.py]
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      {{- include "glance.mounts" . | nindent 6 }}
volumes:
  {{- include "glance.volumes" (list .) | nindent 2 }}
{{- end }}
