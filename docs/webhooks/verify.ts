import { createHmac, timingSafeEqual } from "node:crypto";

/** Whether `body`, the request's raw bytes, was signed with one of `secrets` in the last five minutes. */
// The defaults are there for their types alone: this is JavaScript too.
export function verify(secrets = [""], headers = new Headers(), body = Buffer.from("")) {
  const id = headers.get("webhook-id") ?? "";
  const timestamp = headers.get("webhook-timestamp") ?? "";
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const signatures = (headers.get("webhook-signature") ?? "").split(" ").map((one) => Buffer.from(one));
  return secrets.some((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    const signature = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
    const expected = Buffer.from(`v1,${signature}`);
    return signatures.some((given) => given.length === expected.length && timingSafeEqual(given, expected));
  });
}
