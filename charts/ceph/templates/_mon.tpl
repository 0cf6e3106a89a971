{{- define "ceph.mon" -}}
name: ceph-mon
component: mon
configmaps: [etc, bin]
# A node drain must not break the quorum.
unhealthyPodEvictionPolicy: IfHealthyBudget
claim: ceph-mon-data
headless:
  name: ceph-mon-discovery
  notReady: true
  ports:
    - {name: msgr2, port: 3300}
containers:
  - name: mon
    image: ceph
    command: [/opt/stackwright/mon.sh]
    env:
      {{- include "ceph.env" . | nindent 6 }}
    ports:
      - {name: msgr2, containerPort: 3300}
    probes:
      {{- include "lib.asked" (list (list "/opt/stackwright/ready.sh" "mon") 9) | nindent 6 }}
    volumeMounts:
      - {name: ceph-mon-data, mountPath: /var/lib/ceph}
      {{- include "ceph.mounts" . | nindent 6 }}
volumes:
  {{- include "ceph.volumes" . | nindent 2 }}
{{- end }}

{{/* ceph.mon.services (root): clients know monitors by address, so each has a Service, whose address outlives the pod. */}}
{{- define "ceph.mon.services" -}}
{{- range $name := splitList " " (include "ceph.monitors" .) }}
---
apiVersion: v1
kind: Service
metadata:
  {{- include "lib.metadata" (list $ "mon" $name) | nindent 2 }}
spec:
  type: ClusterIP
  # Monitors must reach each other before any of them is ready.
  publishNotReadyAddresses: true
  selector:
    {{- include "lib.selector" (list $ "mon") | nindent 4 }}
    statefulset.kubernetes.io/pod-name: {{ include "lib.text" $name }}
  ports:
    - name: msgr2
      port: 3300
      targetPort: msgr2
      protocol: TCP
{{- end }}
{{- end }}
