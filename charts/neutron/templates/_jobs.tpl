{{- define "neutron.db_sync" -}}
name: neutron-db-sync
component: db-sync
placement: job
configmaps: [etc, bin]
restartPolicy: OnFailure
containers:
  - name: db-sync
    image: neutron_db_sync
    command: [python3, /opt/stackwright/migrate.py, /etc/neutron/neutron.conf.d, database, neutron-db-manage, --config-file, /etc/neutron/neutron.conf, --config-file, /etc/neutron/plugins/ml2/ml2_conf.ini, --config-dir, /etc/neutron/neutron.conf.d, upgrade, heads]
    volumeMounts:
      {{- include "neutron.server_mounts" . | nindent 6 }}
volumes:
  {{- include "neutron.server_volumes" . | nindent 2 }}
{{- end }}

{{/* The network of floating IPs: a separate Job, which is recreated when the values bootstrap.floating_network change. */}}
{{- define "neutron.bootstrap" -}}
name: neutron-bootstrap
component: bootstrap
placement: job
configmaps: [bin]
restartPolicy: OnFailure
containers:
  - name: bootstrap
    image: neutron_bootstrap
    command: [python3, /opt/stackwright/bootstrap.py]
    env:
      - {name: HOME, value: /tmp}
      - {name: OS_CLOUD, value: {{ include "lib.text" .Values.bootstrap.cloud }}}
      - name: BOOTSTRAP
        value: {{ .Values.bootstrap.floating_network | toJson | quote }}
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: clouds, mountPath: /etc/openstack, readOnly: true}
volumes:
  - name: clouds
    secret:
      secretName: {{ include "lib.text" .Values.secrets.identity.admin }}
      defaultMode: 0400
      items: [{key: clouds.yaml, path: clouds.yaml}]
{{- end }}
