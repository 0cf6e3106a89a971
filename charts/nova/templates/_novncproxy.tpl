{{- define "nova.novncproxy" -}}
{{- $port := .Values.endpoints.compute_novnc_proxy.port.novnc_proxy.default -}}
name: nova-novncproxy
component: novncproxy
configmaps: [etc, bin]
ingress: {host: novncproxy, port: novnc}
service:
  name: {{ include "lib.text" .Values.endpoints.compute_novnc_proxy.hosts.default }}
  ports:
    - {name: novnc, port: {{ $port }}}
containers:
  - name: nova-novncproxy
    image: nova
    command: [python3, /opt/stackwright/novncproxy.py, --web, /usr/share/novnc]
    ports:
      - {name: novnc, containerPort: {{ $port }}}
    probes:
      {{- include "lib.asked" (list (list "/opt/stackwright/listens.sh" (toString $port)) 15) | nindent 6 }}
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      {{- if .Values.secrets.tls.novncproxy }}
      - {name: tls, mountPath: /run/secrets/novncproxy-tls, readOnly: true}
      {{- end }}
      {{- include "nova.mounts" . | nindent 6 }}
volumes:
  {{- with .Values.secrets.tls.novncproxy }}
  # A directory, so that the next console uses a renewed certificate.
  - name: tls
    secret: {secretName: {{ . | quote }}, defaultMode: 0400}
  {{- end }}
  {{- include "nova.snippets" (list . "database" "api_database" "messaging") | nindent 2 }}
{{- end }}
