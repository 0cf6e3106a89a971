{{- define "ceph.watch" -}}
name: ceph-watch
component: watch
configmaps: [bin]
strategy: {type: Recreate}
containers:
  - name: watch
    image: ceph
    command: [python3, /opt/stackwright/watch.py]
    env:
      - name: POD_NAMESPACE
        valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
      - {name: WATCH_INTERVAL, value: {{ .Values.watch.interval | quote }}}
      - {name: WATCH_TIMEOUT, value: {{ .Values.watch.timeout | quote }}}
    probes:
      # Alive while checks run, even if they fail.
      liveness:
        exec: {command: [sh, -c, 'test -n "$(find /tmp/alive -mmin -5)"']}
        periodSeconds: 60
        timeoutSeconds: 5
        failureThreshold: 3
    volumeMounts:
      {{- range .Values.secrets.clients }}
      - {name: {{ include "lib.text" . }}, mountPath: {{ include "lib.text" (printf "/etc/ceph-clients/%s" .) }}, readOnly: true}
      {{- end }}
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
volumes:
  {{- range .Values.secrets.clients }}
  - name: {{ include "lib.text" . }}
    secret: {secretName: {{ include "lib.text" . }}, optional: true, defaultMode: 0440}
  {{- end }}
  {{- include "ceph.token" . | nindent 2 }}
{{- end }}
