{{- define "cinder.scheduler" -}}
{{ include "cinder.worker" (list . "scheduler" (list) (list "database" "messaging" "notifications" "auth")) }}
{{- end }}

{{- define "cinder.volume" -}}
{{ include "cinder.worker" (list . "volume" (list "locks" "ceph") (list "database" "messaging" "notifications" "auth" "ceph")) }}
{{- end }}

{{- define "cinder.backup" -}}
{{ include "cinder.worker" (list . "backup" (list "locks" "ceph") (list "database" "messaging" "notifications" "auth" "ceph")) }}
{{- end }}

{{/*
cinder.worker (root, component, parts of locks and ceph, snippets). It is ready while connected to the message bus. There is
no liveness probe: only the connection can be tested cheaply, and an unavailable bus is no reason to restart
workers.
*/}}
{{- define "cinder.worker" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $parts := prepend (index . 2) $root -}}
{{- $mounts := dig (printf "privileged_%s" $component) false $root.Values.conf -}}
name: cinder-{{ $component }}
component: {{ include "lib.text" $component }}
configmaps: [etc, bin]
# Cinder identifies services by the names of pods. Stable names make a replaced pod the same service, not another one.
headless: {name: cinder-{{ $component }}, ports: []}
security: {{ ternary (dict "runAsNonRoot" false "runAsUser" 0 "runAsGroup" 0) (dict "runAsUser" 42407 "runAsGroup" 42407) $mounts | toJson }}
initContainers:
  {{- include "cinder.wait" (concat (list $root (printf "cinder_%s" $component)) (index . 2)) | nindent 2 }}
containers:
  - name: cinder-{{ $component }}
    image: cinder_{{ $component }}
    command: [cinder-{{ $component }}]
    {{- if $mounts }}
    # It mounts file systems and sets the owners of their files.
    security: {privileged: true, allowPrivilegeEscalation: true, capabilities: null}
    {{- end }}
    env:
      # Precedes other folders, because of its `sudo`.
      - {name: PATH, value: "/opt/stackwright:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
      {{- if not $mounts }}
      # Helpers for operations of root. Here they run as the cinder user without capabilities, which suffices for storage that
      # needs no mounts.
      - {name: OS_CINDER_SYS_ADMIN__CAPABILITIES, value: ""}
      - {name: OS_PRIVSEP_OSBRICK__CAPABILITIES, value: ""}
      {{- end }}
    probes:
      {{- $port := toString $root.Values.endpoints.oslo_messaging.port.amqp.default }}
      {{- include "lib.asked" (list (list "/opt/stackwright/connected.sh" $port) 15) | nindent 6 }}
    volumeMounts:
      - {name: state, mountPath: /var/lib/cinder{{ if $mounts }}, mountPropagation: Bidirectional{{ end }}}
      {{- include "cinder.mounts" $parts | nindent 6 }}
volumes:
  - name: state
    {{- if $mounts }}
    # Mounts outlive the pod.
    hostPath: {path: /var/lib/cinder, type: DirectoryOrCreate}
    {{- else }}
    emptyDir: {}
    {{- end }}
  {{- include "cinder.volumes" $parts | nindent 2 }}
  {{- include "cinder.snippets" (prepend (index . 3) $root) | nindent 2 }}
{{- end }}
