{{/*
The name server. It is ready while it answers by its database. There is no liveness probe: PowerDNS ends by itself when it cannot read its
database, and start.sh says why.
*/}}
{{- define "powerdns.server" -}}
{{- $e := .Values.endpoints -}}
{{- $host := .Values.network.host_port.dns -}}
name: powerdns
component: server
configmaps: [etc, bin]
{{- if $host }}
# A new pod has no place on the nodes of the old ones.
strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
{{- end }}
service:
  name: {{ include "lib.text" $e.powerdns.hosts.default }}
  ports:
    - {name: dns-udp, port: {{ $e.powerdns.port.dns.default }}, protocol: UDP}
    - {name: dns-tcp, port: {{ $e.powerdns.port.dns.default }}}
    - {name: api, port: {{ $e.powerdns.port.api.default }}}
containers:
  - name: powerdns
    image: powerdns
    command: [/opt/stackwright/start.sh]
    env:
      - {name: MDNS, value: {{ include "lib.text" (printf "%s.%s.svc.%s" $e.mdns.hosts.default .Release.Namespace $e.cluster_domain_suffix) }}}
      - {name: MDNS_PORT, value: {{ $e.mdns.port.dns.default | quote }}}
    ports:
      - {name: dns-udp, containerPort: {{ $e.powerdns.port.dns.default }}, protocol: UDP{{ if $host }}, hostPort: {{ $host }}{{ end }}}
      - {name: dns-tcp, containerPort: {{ $e.powerdns.port.dns.default }}, protocol: TCP{{ if $host }}, hostPort: {{ $host }}{{ end }}}
      - {name: api, containerPort: {{ $e.powerdns.port.api.default }}, protocol: TCP}
    probes:
      {{- include "lib.asked" (list (list "/opt/stackwright/answers.sh" (toString $e.powerdns.port.dns.default)) 15) | nindent 6 }}
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: etc, mountPath: /etc/powerdns/pdns.conf, subPath: pdns.conf, readOnly: true}
      - {name: secrets, mountPath: /run/secrets/powerdns, readOnly: true}
      - {name: run, mountPath: /run/powerdns}
volumes:
  - name: run
    emptyDir: {medium: Memory, sizeLimit: 1Mi}
  # The files have the names of the options.
  - name: secrets
    projected:
      defaultMode: 0400
      sources:
        - secret:
            name: {{ include "lib.text" .Values.secrets.oslo_db.powerdns }}
            items:
              - {key: host, path: gmysql-host}
              - {key: port, path: gmysql-port}
              - {key: database, path: gmysql-dbname}
              - {key: username, path: gmysql-user}
              - {key: password, path: gmysql-password}
        - secret:
            name: {{ include "lib.text" .Values.secrets.api }}
            items: [{key: key, path: api-key}]
{{- end }}

{{/* The Service for clients outside of the cluster. Their addresses stay those that PowerDNS sees. */}}
{{- define "powerdns.public" -}}
{{- $port := .Values.endpoints.powerdns.port.dns.default -}}
name: powerdns-public
type: LoadBalancer
externalTrafficPolicy: Local
{{- with .Values.network.public.address }}
loadBalancerIP: {{ include "lib.text" . }}
{{- end }}
ports:
  {{- range .Values.network.public.protocols }}
  - {name: dns-{{ lower . }}, port: {{ $port }}, protocol: {{ . }}}
  {{- end }}
{{- end }}
