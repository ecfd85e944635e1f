// What reports carry: the viewer as `EvacuatorViewer`, and a page that names its data is drawn at once.
//   <div id="report"></div><script type="application/json" id="data">…</script><script data-report="report" data-from="data">

import { mount } from "./viewer";

export { mount };

const { report, from } = (document.currentScript as HTMLScriptElement | null)?.dataset ?? {};
const element = report ? document.getElementById(report) : null;
const source = from ? document.getElementById(from) : null;
if (element && source) {
  let data: unknown;
  try {
    data = JSON.parse(source.textContent ?? "");
  } catch {
    data = null;
  }
  mount(element, data);
}
