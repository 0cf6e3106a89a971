{{/* ovn.ovsdb: the members of both databases' clusters. The containers of a pod share a volume, each with its own file. */}}
{{- define "ovn.ovsdb" -}}
{{- $endpoint := .Values.endpoints.ovn_ovsdb -}}
name: {{ include "lib.text" $endpoint.hosts.default }}
component: ovsdb
configmaps: [bin]
# In parallel: the members form the cluster when each has contacted the others (bin/database.sh).
podManagementPolicy: Parallel
# An unavailable member may be the one that the majority needs next.
unhealthyPodEvictionPolicy: IfHealthyBudget
claim: ovn-data
headless:
  name: {{ include "lib.text" (printf "%s-discovery" $endpoint.hosts.default) }}
  notReady: true
  ports:
    {{- range $name, $number := $endpoint.port }}
    - {name: {{ include "lib.text" $name }}, port: {{ $number.default }}}
    {{- end }}
containers:
  {{- range $which := list "nb" "sb" }}
  {{- $raft := printf "%s-raft" $which }}
  - name: {{ $which }}
    image: ovn_ovsdb_{{ $which }}
    resources: ovsdb-{{ $which }}
    command: [/opt/stackwright/database.sh, {{ $which }}]
    env:
      - name: POD_NAME
        valueFrom: {fieldRef: {fieldPath: metadata.name}}
      - {name: CLUSTER_SIZE, value: {{ $.Values.pod.replicas.ovsdb | quote }}}
      - {name: CLUSTER_DOMAIN, value: {{ include "lib.text" (printf "%s-discovery.%s.svc.%s" $endpoint.hosts.default $.Release.Namespace $.Values.endpoints.cluster_domain_suffix) }}}
      - {name: CLIENT_PORT, value: {{ (index $endpoint.port $which).default | quote }}}
      - {name: RAFT_PORT, value: {{ (index $endpoint.port $raft).default | quote }}}
      - {name: INACTIVITY_PROBE, value: {{ $.Values.conf.inactivity_probe | quote }}}
      - {name: ELECTION_TIMER, value: {{ $.Values.conf.election_timer | quote }}}
    ports:
      - {name: {{ $which }}, containerPort: {{ (index $endpoint.port $which).default }}}
      - {name: {{ $raft }}, containerPort: {{ (index $endpoint.port $raft).default }}}
    probes:
      {{- include "lib.asked" (list (list "/opt/stackwright/ready.sh" $which) 15) | nindent 6 }}
    volumeMounts:
      - {name: ovn-data, mountPath: /var/lib/ovn}
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: tls, mountPath: /etc/ovn/tls, readOnly: true}
  {{- end }}
volumes:
  {{- include "ovn.tls" . | nindent 2 }}
{{- end }}

{{/* ovn.members: a Service for each member, because clients of a cluster need an address of each that never changes. */}}
{{- define "ovn.members" -}}
{{- $endpoint := .Values.endpoints.ovn_ovsdb -}}
{{- $w := dict "component" "ovsdb" -}}
{{- range $i := until (int .Values.pod.replicas.ovsdb) }}
{{- $name := printf "%s-%d" $endpoint.hosts.default $i }}
{{- $ports := list }}
{{- range $which := list "nb" "sb" }}
{{- $ports = append $ports (dict "name" $which "port" (index $endpoint.port $which).default) }}
{{- end }}
---
{{ include "lib.service" (list $ $w (dict "name" $name "ports" $ports "selector" (dict "statefulset.kubernetes.io/pod-name" $name))) }}
{{- end }}
{{- end }}

{{- define "ovn.northd" -}}
name: ovn-northd
component: northd
configmaps: [bin]
# With two of them, a lock in the database selects the active one.
containers:
  - name: ovn-northd
    image: ovn_northd
    command: [/opt/stackwright/northd.sh]
    env:
      - {name: NORTHBOUND, value: {{ include "ovn.remotes" (list . "nb") | quote }}}
      - {name: SOUTHBOUND, value: {{ include "ovn.remotes" (list . "sb") | quote }}}
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: tls, mountPath: /etc/ovn/tls, readOnly: true}
volumes:
  {{- include "ovn.tls" . | nindent 2 }}
{{- end }}

{{- define "ovn.controller" -}}
name: ovn-controller
component: controller
configmaps: [etc, bin]
hostNetwork: true
# root, because root owns the switch's sockets; without any capability.
security: {runAsNonRoot: false, runAsUser: 0, runAsGroup: 0}
containers:
  - name: ovn-controller
    image: ovn_controller
    command: [/opt/stackwright/controller.sh]
    env:
      - name: NODE_NAME
        valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
      - {name: SOUTHBOUND, value: {{ include "ovn.remotes" (list . "sb") | quote }}}
    volumeMounts:
      - {name: etc, mountPath: /etc/ovn/controller.conf, subPath: controller.conf, readOnly: true}
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: tls, mountPath: /etc/ovn/tls, readOnly: true}
      - {name: run-openvswitch, mountPath: /run/openvswitch}
      - {name: run-ovn, mountPath: /run/ovn}
volumes:
  {{- include "ovn.tls" . | nindent 2 }}
  - name: run-openvswitch
    hostPath: {path: /run/openvswitch, type: DirectoryOrCreate}
  - name: run-ovn
    emptyDir: {}
{{- end }}

{{/* ovn.tls: the certificate, which the programs read again when it changes. */}}
{{- define "ovn.tls" -}}
- name: tls
  secret:
    secretName: {{ include "lib.text" .Values.secrets.tls.ovn }}
    defaultMode: 0400
{{- end }}

{{/* ovn.remotes (root, nb|sb): the members of a database, in the format of OVN's clients. */}}
{{- define "ovn.remotes" -}}
{{- $root := index . 0 -}}
{{- $endpoint := $root.Values.endpoints.ovn_ovsdb -}}
{{- $remotes := list -}}
{{- range $i := until (int $root.Values.pod.replicas.ovsdb) -}}
{{- $host := printf "%s-%d.%s.svc.%s" $endpoint.hosts.default $i $root.Release.Namespace $root.Values.endpoints.cluster_domain_suffix -}}
{{- $remotes = append $remotes (printf "ssl:%s:%v" $host (index $endpoint.port (index $ 1)).default) -}}
{{- end -}}
{{- join "," $remotes -}}
{{- end }}

{{- define "ovn.etc" -}}
controller.conf: |
  BRIDGE_MAPPINGS="{{ include "lib.shell_words" (list "conf.bridge_mappings" .Values.conf.bridge_mappings ",") }}"
  GATEWAYS="{{ include "lib.shell_words" (list "conf.gateways" .Values.conf.gateways " ") }}"
{{- end }}
