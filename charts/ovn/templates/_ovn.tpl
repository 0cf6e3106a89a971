{{/* ovn.database (root, nb|sb): one of the two databases. */}}
{{- define "ovn.database" -}}
{{- $root := index . 0 -}}
{{- $which := index . 1 -}}
{{- $endpoint := index $root.Values.endpoints (printf "ovn_ovsdb_%s" $which) -}}
name: {{ include "lib.text" $endpoint.hosts.default }}
component: ovsdb-{{ $which }}
configmaps: [etc, bin]
claim: ovn-data
headless:
  name: {{ include "lib.text" (printf "%s-discovery" $endpoint.hosts.default) }}
  ports:
    - {name: ovsdb, port: {{ $endpoint.port.ovsdb.default }}}
service:
  name: {{ include "lib.text" $endpoint.hosts.default }}
  ports:
    - {name: ovsdb, port: {{ $endpoint.port.ovsdb.default }}}
containers:
  - name: ovsdb
    image: ovn_ovsdb_{{ $which }}
    command: [/opt/stackwright/database.sh, {{ $which }}]
    ports:
      - {name: ovsdb, containerPort: {{ $endpoint.port.ovsdb.default }}}
    probes:
      {{- $address := printf "tcp:127.0.0.1:%v" $endpoint.port.ovsdb.default }}
      {{- include "lib.asked" (list (list "ovsdb-client" "list-dbs" $address) 15) | nindent 6 }}
    volumeMounts:
      - {name: ovn-data, mountPath: /var/lib/ovn}
      - {name: etc, mountPath: /etc/ovn, readOnly: true}
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
{{- end }}

{{- define "ovn.ovsdb_nb" -}}
{{ include "ovn.database" (list . "nb") }}
{{- end }}

{{- define "ovn.ovsdb_sb" -}}
{{ include "ovn.database" (list . "sb") }}
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
      {{- include "ovn.remote" (list . "NORTHBOUND" "ovn_ovsdb_nb") | nindent 6 }}
      {{- include "ovn.remote" (list . "SOUTHBOUND" "ovn_ovsdb_sb") | nindent 6 }}
    volumeMounts:
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
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
      {{- include "ovn.remote" (list . "SOUTHBOUND" "ovn_ovsdb_sb") | nindent 6 }}
    volumeMounts:
      - {name: etc, mountPath: /etc/ovn, readOnly: true}
      - {name: bin, mountPath: /opt/stackwright, readOnly: true}
      - {name: run-openvswitch, mountPath: /run/openvswitch}
      - {name: run-ovn, mountPath: /run/ovn}
volumes:
  - name: run-openvswitch
    hostPath: {path: /run/openvswitch, type: DirectoryOrCreate}
  - name: run-ovn
    emptyDir: {}
{{- end }}

{{/* ovn.remote (root, NAME, endpoint): the address of a database, as NAME and NAME_PORT. */}}
{{- define "ovn.remote" -}}
{{- $root := index . 0 -}}
{{- $port := index $root.Values.endpoints (index . 2) "port" "ovsdb" -}}
- {name: {{ include "lib.text" (index . 1) }}, value: {{ include "lib.text" (include "lib.endpoint_host" (list $root (index . 2) "internal")) }}}
- {name: {{ index . 1 }}_PORT, value: {{ include "lib.endpoint_value" (list $port "internal") | quote }}}
{{- end }}

{{- define "ovn.etc" -}}
{{- range $which := list "nb" "sb" }}
{{- $port := index $.Values.endpoints (printf "ovn_ovsdb_%s" $which) "port" "ovsdb" "default" }}
{{- $remotes := dict (printf "ptcp:%d:0.0.0.0" (int $port)) (dict "inactivity-probe" (int $.Values.conf.inactivity_probe)) }}
{{ $which }}.json: {{ dict "remotes" $remotes "databases" (dict (printf "/var/lib/ovn/ovn%s_db.db" $which) dict) | toJson | toJson }}
{{- end }}
controller.conf: |
  BRIDGE_MAPPINGS="{{ join "," .Values.conf.bridge_mappings }}"
  GATEWAYS="{{ join " " .Values.conf.gateways }}"
{{- end }}
