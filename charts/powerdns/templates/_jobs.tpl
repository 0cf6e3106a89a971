{{- define "powerdns.db_sync" -}}
name: powerdns-db-sync
component: db-sync
placement: job
restartPolicy: OnFailure
configmaps: [bin]
containers:
  - name: db-sync
    image: powerdns_db_sync
    command: [python3, /opt/stackwright/tables.py]
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: database, mountPath: /etc/powerdns, readOnly: true}
volumes:
  - name: database
    secret:
      secretName: {{ include "lib.text" .Values.secrets.oslo_db.powerdns }}
      defaultMode: 0400
      items: [{key: database.conf, path: database.conf}]
{{- end }}
