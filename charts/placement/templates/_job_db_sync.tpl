{{- define "placement.db_sync" -}}
name: placement-db-sync
component: db-sync
placement: job
configmaps: [etc]
restartPolicy: OnFailure
containers:
  - name: db-sync
    image: placement_db_sync
    # Idempotent.
    command: [placement-manage, db, sync]
    volumeMounts:
      {{- include "placement.mounts" . | nindent 6 }}
volumes:
  {{- include "placement.volumes" . | nindent 2 }}
{{- end }}
