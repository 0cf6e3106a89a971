{{- define "glance.db_purge" -}}
{{- $c := .Values.cron.db_purge -}}
name: glance-db-purge
component: db-purge
placement: job
configmaps: [etc, bin]
schedule: {{ $c.schedule | default "" | quote }}
containers:
  - name: db-purge
    image: glance_db_sync
    command: [python3, /opt/stackwright/db-purge.py]
    args: [{{ $c.age | int | quote }}, {{ max $c.age $c.images_age | quote }}, {{ $c.batch | int | quote }}]
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      {{- include "glance.mounts" . | nindent 6 }}
volumes:
  {{- include "glance.volumes" (list .) | nindent 2 }}
{{- end }}
