{{- define "placement.db_sync" -}}
name: placement-db-sync
component: db-sync
placement: job
configmaps: [etc, bin]
restartPolicy: OnFailure
containers:
  - name: db-sync
    image: placement_db_sync
    command: [python3, /opt/stackwright/migrate.py, /etc/placement/placement.conf.d, placement_database, placement-manage, db, sync]
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      {{- include "placement.mounts" . | nindent 6 }}
volumes:
  {{- include "placement.volumes" . | nindent 2 }}
{{- end }}
