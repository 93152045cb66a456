/** Settings of each surface for an installation with all features of the chart, as `--set` takes them. */
export const everything: Readonly<Record<string, readonly string[]>> = {
  'case-gate': ['autoscaling.enabled=true'],
  console: ['ingress={"enabled":true,"hosts":["console.example.com"],"tlsSecretName":"front"}'],
  'ingest-gateway': ['archive.enabled=true', 'autoscaling.enabled=true', 'ca.configMap=authority'],
  'ledger-peer': [
    ...['archive.enabled=true', 'monitor.enabled=true', 'monitor.logs={https://peer.example/ledger/acme.main}'],
    ...['monitor.policy.configMap=w', 'integrator.witnesses.policy.configMap=w', 'integrator.witnesses.waitMs=900'],
    ...['serviceMonitor.enabled=true', 'ca.secret=authority', 'prometheusRule.enabled=true', 'dashboards.enabled=true'],
    ...['commonLabels.team=desk', 'podDisruptionBudget.minAvailable=50%', 'workloadAnnotations.reload=auto'],
    'dnsConfig={"options":[{"name":"ndots","value":"2"}]}',
    'extraEnv=[{"name":"GATE_NODE","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}]',
    'extraObjects=[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"more"},"data":{"a":"b"}}]',
  ],
  'risk-partner': [
    ...['admin.service.enabled=true', 'env.OIDC_ISSUERS=[{}]', 'env.ADMIN_OIDC=[{}]'],
    'httpRoute={"enabled":true,"parentRefs":[{"name":"edge"}]}',
  ],
};
