{{- define "etcd.server" -}}
{{- $port := .Values.endpoints.etcd.port -}}
name: etcd-server
component: server
configmaps: [bin]
# In parallel: the members form the cluster when each has contacted the others (bin/start.sh).
podManagementPolicy: Parallel
# An unavailable member may be the one that the majority needs next.
unhealthyPodEvictionPolicy: IfHealthyBudget
claim: etcd-data
headless:
  name: etcd-discovery
  notReady: true
  ports:
    - {name: client, port: {{ $port.client.default }}}
    - {name: peer, port: {{ $port.peer.default }}}
    - {name: state, port: {{ $port.state.default }}}
service:
  name: {{ include "lib.text" .Values.endpoints.etcd.hosts.default }}
  ports:
    - {name: client, port: {{ $port.client.default }}}
containers:
  - name: etcd
    image: etcd
    command: [/opt/stackwright/start.sh]
    args:
      {{- include "lib.once" .Values.conf.etcd }}
      {{- range $option, $value := .Values.conf.etcd }}
      {{- if not (kindIs "invalid" $value) }}
      - {{ printf "--%s=%s" (replace "_" "-" $option) (include "lib.scalar" $value) | quote }}
      {{- end }}
      {{- end }}
    env:
      - name: POD_NAME
        valueFrom: {fieldRef: {fieldPath: metadata.name}}
      - {name: CLUSTER_SIZE, value: {{ .Values.pod.replicas.server | quote }}}
      - {name: CLUSTER_DOMAIN, value: {{ include "lib.text" (printf "etcd-discovery.%s.svc.%s" .Release.Namespace .Values.endpoints.cluster_domain_suffix) }}}
      {{- range $name, $number := $port }}
      - {name: {{ upper $name }}_PORT, value: {{ $number.default | quote }}}
      {{- end }}
    ports:
      {{- range $name, $number := $port }}
      - {name: {{ include "lib.text" $name }}, containerPort: {{ $number.default }}}
      {{- end }}
    probes:
      # Ready if a leader exists and this member can read from the majority. There is no liveness probe: a member that waits
      # for the others is healthy, and one that cannot write exits by itself.
      readiness:
        httpGet: {path: /health, port: metrics}
        periodSeconds: 3
        timeoutSeconds: 5
        failureThreshold: 2
    volumeMounts:
      - {name: etcd-data, mountPath: /var/lib/etcd}
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      # etcd reads its certificate at each handshake, so renewal needs no restart.
      - {name: tls, mountPath: /etc/etcd/tls, readOnly: true}
volumes:
  - name: tls
    secret:
      secretName: {{ include "lib.text" .Values.secrets.tls.etcd }}
      defaultMode: 0400
{{- end }}
