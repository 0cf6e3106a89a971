{{- define "ingress.controller" -}}
name: ingress-controller
component: controller
# It watches the Ingresses of its namespace and the objects that they name.
token: true
security: {runAsUser: 65533, runAsGroup: 65533}
containers:
  - name: controller
    image: ingress
    args:
      - {{ include "lib.text" (printf "-class=%s" .Values.ingress_class.name) }}
      - {{ include "lib.text" (printf "-tls-secrets=%s" (join "," .Values.secrets.tls.public)) }}
      - -https-port={{ .Values.network.host_port.https }}
      - {{ include "lib.text" (printf "-dial-timeout=%s" .Values.conf.dial_timeout) }}
      - {{ include "lib.text" (printf "-drain=%s" .Values.conf.drain) }}
      - -connections={{ int .Values.conf.connections }}
    env:
      - name: POD_NAMESPACE
        valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
      # Go's soft limit of memory, well below the pod's limit, which would kill the process.
      - {name: GOMEMLIMIT, value: {{ include "lib.text" .Values.conf.memory_target }}}
    ports:
      {{- with .Values.network.host_port.http }}
      - {name: http, containerPort: 8080, hostPort: {{ . }}}
      {{- end }}
      - {name: https, containerPort: 8443, hostPort: {{ .Values.network.host_port.https }}}
      - {name: health, containerPort: 10254}
    probes:
      readiness:
        httpGet: {path: /readyz, port: health}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      liveness:
        httpGet: {path: /livez, port: health}
        initialDelaySeconds: 10
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
{{- end }}
