{{- define "mariadb.server" -}}
{{- $port := .Values.endpoints.oslo_db.port -}}
name: mariadb-server
component: server
configmaps: [etc, bin]
# In parallel: after a power failure the servers must contact each other before one of them may start (bin/start.sh).
podManagementPolicy: Parallel
# An unavailable server may have the newest data: the drain of its node must wait until it has returned.
unhealthyPodEvictionPolicy: IfHealthyBudget
claim: mysql-data
headless:
  name: mariadb-discovery
  notReady: true
  ports:
    - {name: mysql, port: {{ $port.mysql.default }}}
    - {name: wsrep, port: {{ $port.wsrep.default }}}
    - {name: state, port: {{ $port.state.default }}}
service:
  name: mariadb
  # The operator sets this label on the one server for writes: OpenStack must not write to two concurrently.
  selector: {mariadb-role: primary}
  ports:
    - {name: mysql, port: {{ $port.mysql.default }}}
containers:
  - name: mariadb
    image: mariadb
    command: [/opt/stackwright/start.sh]
    env:
      - name: POD_NAME
        valueFrom: {fieldRef: {fieldPath: metadata.name}}
      - name: POD_IP
        valueFrom: {fieldRef: {fieldPath: status.podIP}}
      - {name: CLUSTER_SIZE, value: {{ .Values.pod.replicas.server | quote }}}
      - {name: CLUSTER_DOMAIN, value: {{ include "lib.text" (printf "mariadb-discovery.%s.svc.%s" .Release.Namespace .Values.endpoints.cluster_domain_suffix) }}}
      - {name: STATE_PORT, value: {{ $port.state.default | quote }}}
      {{- with .Values.conf.database.malloc_arenas }}
      - {name: MALLOC_ARENA_MAX, value: {{ . | quote }}}
      {{- end }}
    ports:
      - {name: mysql, containerPort: {{ $port.mysql.default }}}
      - {name: wsrep, containerPort: {{ $port.wsrep.default }}}
      - {name: state, containerPort: {{ $port.state.default }}}
    probes:
      # Over the socket: a TCP probe counts as a failed connection, and many of them block kubelet's host.
      # More often than other probes, because a server outside of the primary component rejects queries.
      {{- include "lib.asked" (list (list "/opt/stackwright/ready.sh") 6) | nindent 6 }}
      liveness:
        exec: {command: [/opt/stackwright/alive.sh]}
        initialDelaySeconds: 10
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
    volumeMounts:
      - {name: mysql-data, mountPath: /var/lib/mysql}
      - {name: run, mountPath: /run/mysqld}
      - {name: etc, mountPath: /etc/mysql/stackwright, readOnly: true}
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: root, mountPath: /run/secrets/mariadb-root, readOnly: true}
volumes:
  - name: run
    emptyDir: {medium: Memory}
  - name: root
    secret:
      secretName: {{ include "lib.text" .Values.secrets.oslo_db.root }}
      defaultMode: 0400
{{- end }}

{{- define "mariadb.etc" -}}
{{- $cnf := include "lib.oslo_conf" .Values.conf.mariadb -}}
my.cnf: {{ printf "%s\n%s" $cnf (.Values.conf.database.config_override | default "") | trim | printf "%s\n" | toJson }}
{{- end }}
