{{- define "neutron.server" -}}
name: neutron-server
component: server
configmaps: [etc, bin]
ingress: {host: neutron, port: api, uploads: {{ include "lib.uploads" .Values.conf.neutron_api_uwsgi }}}
service:
  name: {{ include "lib.text" .Values.endpoints.network.hosts.default }}
  ports:
    - {name: api, port: {{ .Values.endpoints.network.port.api.default }}}
containers:
  - name: neutron-server
    image: neutron_server
    command: [python3, /opt/stackwright/after-schema.py, uwsgi, --ini, /etc/neutron/neutron-api-uwsgi.ini]
    env:
      - {name: OS_NEUTRON_CONFIG_FILES, value: neutron.conf;plugins/ml2/ml2_conf.ini}
    ports:
      - {name: api, containerPort: {{ .Values.endpoints.network.port.api.default }}}
    probes:
      # By HTTP, because uWSGI's master keeps the port open while its workers crash.
      readiness:
        httpGet: {path: /, port: api}
        periodSeconds: 3
        timeoutSeconds: 5
        failureThreshold: 3
      liveness:
        httpGet: {path: /, port: api}
        initialDelaySeconds: 120
        periodSeconds: 30
        timeoutSeconds: 30
        failureThreshold: 10
    volumeMounts:
      - {name: etc, mountPath: /etc/neutron/neutron-api-uwsgi.ini, subPath: neutron-api-uwsgi.ini, readOnly: true}
      {{- include "neutron.server_mounts" . | nindent 6 }}
volumes:
  {{- include "neutron.server_volumes" . | nindent 2 }}
{{- end }}

{{/* neutron.worker (root, component, words): a process of the server without an HTTP port; words of its command, with commas. */}}
{{- define "neutron.worker" -}}
{{- $root := index . 0 -}}
name: neutron-{{ index . 1 }}
component: {{ include "lib.text" (index . 1) }}
configmaps: [etc, bin]
containers:
  - name: neutron-{{ index . 1 }}
    image: neutron_server
    command: [python3, /opt/stackwright/after-schema.py, {{ index . 2 }}]
    args: [--config-file, /etc/neutron/neutron.conf, --config-file, /etc/neutron/plugins/ml2/ml2_conf.ini, --config-dir, /etc/neutron/neutron.conf.d]
    probes:
      # Ready when the program begins: before, it waits for databases, or restores one. The probe ends with its first success.
      startup:
        exec: {command: [test, -e, /tmp/started]}
        periodSeconds: 2
        timeoutSeconds: 5
        failureThreshold: 1000000
    volumeMounts:
      {{- include "neutron.server_mounts" $root | nindent 6 }}
volumes:
  {{- include "neutron.server_volumes" $root | nindent 2 }}
{{- end }}

{{- define "neutron.rpc_server" -}}
{{ include "neutron.worker" (list . "rpc-server" "neutron-rpc-server") }}
{{- end }}

{{- define "neutron.periodic_workers" -}}
{{ include "neutron.worker" (list . "periodic-workers" "neutron-periodic-workers") }}
{{- end }}

{{/* Synchronises the databases of Neutron and OVN. */}}
{{- define "neutron.ovn_maintenance_worker" -}}
{{ include "neutron.worker" (list . "ovn-maintenance-worker" "--restore, neutron-ovn-maintenance-worker") }}
{{- end }}
