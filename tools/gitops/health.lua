-- The health of an object of Stackwright for Argo CD. Its conditions follow kstatus: exactly one of Ready, Reconciling
-- and Stalled is True. Argo CD handles deleted objects itself.
local status = obj.status or {}
local found = {}
for _, condition in ipairs(status.conditions or {}) do
  found[condition.type] = condition
end
local function is(name)
  return found[name] ~= nil and found[name].status == "True"
end

if status.observedGeneration ~= obj.metadata.generation or found.Ready == nil then
  return {status = "Progressing", message = "The operator has not processed this version yet"}
end
local message = found.Ready.message or ""
if is("Ready") then
  return {status = "Healthy", message = message}
elseif found.Ready.reason == "Paused" or found.Ready.reason == "Draft" then
  return {status = "Suspended", message = message}
elseif is("Stalled") then
  return {status = "Degraded", message = message}
end
return {status = "Progressing", message = message}
