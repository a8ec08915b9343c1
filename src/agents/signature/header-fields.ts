import {
  type Dictionary,
  type InnerList,
  type Item,
  isInnerList,
  parseDictionary,
  parseItem,
  serializeInnerList,
  serializeItem,
  Token,
} from 'structured-headers'

/** Longer fields are not read: they may have been cut in capture. Honest signers send at most a third of this. */
export const MAX_FIELD_CHARS = 4_096

/** The tag of draft-ietf-webbotauth-httpsig-protocol. */
const WEB_BOT_AUTH_TAG = 'web-bot-auth'

/** One covered component (RFC 9421 2). */
export interface CoveredComponent {
  name: string
  /** Its parameters other than `key`, none of which is supported. */
  unknown: readonly string[]
  /** The member of a dictionary field that is covered. */
  key?: string
  /** Name and parameters as serialised in the signature base. */
  identifier: string
}

/** One member of `Signature-Input` with its member of `Signature`. */
export interface SignatureInput {
  label: string
  components: readonly CoveredComponent[]
  /** Seconds since 1970. */
  created?: number
  expires?: number
  keyid?: string
  alg?: string
  nonce?: string
  /** The value of `@signature-params`: the member, serialised. */
  params: string
  signature: Uint8Array
}

/** Returns undefined if parsing throws. */
const tryParse = <T>(read: () => T): T | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Returns the members by name, or undefined if the text is not a dictionary (RFC 8941 3.2). */
const tryDictionary = (text: string): Dictionary | undefined => tryParse(() => parseDictionary(text))

/**
 * Reads the signatures that carry the tag, `most` at most, without checking them. Returns undefined if one of the two
 * fields is malformed or they do not belong together.
 */
export function readSignatures(input: string, signature: string, most: number): SignatureInput[] | undefined {
  const inputs = tryDictionary(input)
  const signatures = tryDictionary(signature)
  if (inputs === undefined || signatures === undefined) return undefined
  const tagged: SignatureInput[] = []
  for (const [label, member] of inputs) {
    if (!isInnerList(member)) return undefined
    if (member[1].get('tag') !== WEB_BOT_AUTH_TAG) continue
    const bytes = signatures.get(label)?.[0]
    if (!(bytes instanceof ArrayBuffer)) return undefined
    const signed = tryParse(() => readSigned(label, member, new Uint8Array(bytes)))
    if (signed === undefined) return undefined
    tagged.push(signed)
    if (tagged.length === most) break
  }
  return tagged
}

function readSigned(label: string, member: InnerList, signature: Uint8Array): SignatureInput | undefined {
  const [items, params] = member
  const components: CoveredComponent[] = []
  for (const item of items) {
    const component = readComponent(item)
    if (component === undefined) return undefined
    components.push(component)
  }
  const signed: SignatureInput = { label, components, params: serializeInnerList(member), signature }
  for (const name of ['created', 'expires'] as const) {
    const value = params.get(name)
    if (value === undefined) continue
    if (typeof value !== 'number' || !Number.isInteger(value)) return undefined
    signed[name] = value
  }
  for (const name of ['keyid', 'alg', 'nonce'] as const) {
    const value = params.get(name)
    if (value === undefined) continue
    if (typeof value !== 'string') return undefined
    signed[name] = value
  }
  return signed
}

function readComponent(item: Item): CoveredComponent | undefined {
  const [name, params] = item
  // RFC 9421 2: identifiers are strings, and names of fields are in lower case.
  if (typeof name !== 'string' || name !== name.toLowerCase()) return undefined
  const component: CoveredComponent = {
    name,
    unknown: [...params.keys()].filter((param) => param !== 'key'),
    identifier: serializeItem(item),
  }
  const key = params.get('key')
  if (key === undefined) return component
  if (typeof key !== 'string') return undefined
  return { ...component, key }
}

/** Returns the member `key` of a dictionary field as serialised in a signature base (RFC 9421 2.1.2). */
export function memberOf(field: string, key: string): string | undefined {
  const member = tryDictionary(field)?.get(key)
  if (member === undefined) return undefined
  return tryParse(() => (isInnerList(member) ? serializeInnerList(member) : serializeItem(member)))
}

/** `Signature-Agent`: one URL per member, or in the form of earlier drafts one URL for all signatures. */
export type SignatureAgent =
  | { form: 'dictionary'; members: ReadonlyMap<string, string> }
  | { form: 'string'; url: string }

/**
 * Reads `Signature-Agent` in the three forms that occur: a dictionary of strings, a string, and a string without quotation
 * marks. Ignores members whose `type` is not `directory`, as the draft requires. Returns undefined for any other form.
 */
export function readSignatureAgent(text: string): SignatureAgent | undefined {
  const value = text.trim()
  if (value.startsWith('"')) return readBareUrl(value)
  const read = tryDictionary(value)
  if (read === undefined) return readBareUrl(value)
  const members = new Map<string, string>()
  for (const [key, member] of read) {
    const [url, params] = member
    const type = params.get('type')
    if (typeof url !== 'string') continue
    if (type === undefined || (type instanceof Token && type.toString() === 'directory')) members.set(key, url)
  }
  return { form: 'dictionary', members }
}

function readBareUrl(value: string): SignatureAgent | undefined {
  const item = tryParse(() => parseItem(value))
  if (item === undefined) return undefined
  const [url] = item
  if (typeof url === 'string') return { form: 'string', url }
  return url instanceof Token ? { form: 'string', url: url.toString() } : undefined
}
