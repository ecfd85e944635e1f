// A receiver of OTLP traces over HTTP in JSON that takes nothing but what the definitions of opentelemetry-proto hold, as
// OpenTelemetry's own library for JavaScript has compiled them: what is lost on the way through protobuf was no field.
// Prints the port, then a line for each span. Ends at SIGTERM: with 1 if a request was wrong or none came.

import { createServer } from "node:http";
import { isDeepStrictEqual } from "node:util";
import root from "@opentelemetry/otlp-transformer/build/src/generated/root.js";

const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
const ID_BYTES = { traceId: 16, spanId: 8, parentSpanId: 8 };

function bytesOf(name, text) {
  if (!new RegExp(`^[0-9a-f]{${2 * ID_BYTES[name]}}$`).test(text)) throw new Error(`${name} is ${text}`);
  return Buffer.from(text, "hex");
}

// JSON of OTLP writes ids in hex, where protobuf's JSON has base64.
function withBytes(json) {
  if (Array.isArray(json)) return json.map(withBytes);
  if (json === null || typeof json !== "object") return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [name, name in ID_BYTES ? bytesOf(name, value) : withBytes(value)]),
  );
}

// Empty lists are not told in protobuf.
function plain(json) {
  if (Buffer.isBuffer(json)) return json.toString("hex");
  if (Array.isArray(json)) return json.map(plain);
  if (json === null || typeof json !== "object") return json;
  const kept = Object.entries(json).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  return Object.fromEntries(kept.map(([name, value]) => [name, plain(value)]));
}

function decode(body) {
  const sent = withBytes(JSON.parse(body));
  const message = Request.fromObject(sent);
  const problem = Request.verify(message);
  if (problem) throw new Error(problem);
  const read = Request.toObject(Request.decode(Request.encode(message).finish()), { longs: String, enums: Number, bytes: Buffer });
  if (!isDeepStrictEqual(plain(read), plain(sent))) throw new Error(`something is no field, or of another type: ${body}`);
  return plain(read);
}

function print(request) {
  for (const of of request.resourceSpans) {
    const service = of.resource.attributes.find(({ key }) => key === "service.name").value.stringValue;
    for (const { spans } of of.scopeSpans) {
      for (const span of spans) {
        console.log(`span ${service} ${span.traceId} ${span.spanId} ${span.parentSpanId ?? "-"} ${span.kind} ${span.name}`);
        told += 1;
      }
    }
  }
}

let told = 0;
let wrong = 0;

const server = createServer((asked, answer) => {
  const parts = [];
  asked.on("data", (part) => parts.push(part));
  asked.on("end", () => {
    try {
      if (asked.method !== "POST" || asked.url !== "/v1/traces") throw new Error(`${asked.method} ${asked.url}`);
      if (asked.headers["content-type"] !== "application/json") throw new Error(asked.headers["content-type"]);
      print(decode(Buffer.concat(parts).toString()));
      answer.writeHead(200, { "content-type": "application/json" }).end("{}");
    } catch (error) {
      wrong += 1;
      console.log(`wrong: ${error.message}`);
      answer.writeHead(400).end();
    }
  });
});

server.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
process.on("SIGTERM", () => {
  console.log(`${told} spans, ${wrong} wrong requests`);
  process.exit(wrong > 0 || told === 0 ? 1 : 0);
});
