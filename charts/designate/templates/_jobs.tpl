{{- define "designate.db_sync" -}}
name: designate-db-sync
component: db-sync
placement: job
restartPolicy: OnFailure
configmaps: [etc, bin]
containers:
  - name: db-sync
    image: designate_db_sync
    command: [python3, /opt/stackwright/migrate.py, /etc/designate/designate.conf.d, "storage:sqlalchemy", designate-manage, database, sync]
    volumeMounts:
      {{- include "designate.mounts" . | nindent 6 }}
volumes:
  {{- include "designate.snippets" (list . "database") | nindent 2 }}
{{- end }}

{{/* Writes the pool to the database, through central. */}}
{{- define "designate.pool" -}}
name: designate-pool
component: pool
placement: job
restartPolicy: OnFailure
configmaps: [etc, bin]
initContainers:
  - name: wait
    image: designate_db_sync
    command: [python3, /opt/stackwright/wait.py]
    volumeMounts:
      {{- include "designate.mounts" . | nindent 6 }}
containers:
  - name: pool
    image: designate_db_sync
    command: [python3, -P, /opt/stackwright/pool.py]
    volumeMounts:
      {{- include "designate.mounts" . | nindent 6 }}
      {{- include "designate.key_mount" . | nindent 6 }}
volumes:
  {{- include "designate.snippets" (list . "database" "messaging") | nindent 2 }}
  {{- include "designate.key" . | nindent 2 }}
{{- end }}
