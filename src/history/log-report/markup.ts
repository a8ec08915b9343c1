/** Text that is markup already. */
export class Html {
  constructor(readonly text: string) {}
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for HTML, in elements and in quoted attributes. Controls that HTML does not allow and halves of characters become U+FFFD. */
export const escapeHtml = (text: string): string => text.replace(UNSAFE, (character) => ESCAPES[character] ?? '\ufffd')
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is replaced.
const UNSAFE = /[&<>"'\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]|\p{Cs}/gu

/** Makes markup of a template: its texts are escaped, its `Html` is not. */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html)[]): Html {
  return new Html(
    parts.reduce((text, part, i) => {
      const value = values[i - 1]
      return `${text}${value instanceof Html ? value.text : escapeHtml(value ?? '')}${part}`
    }),
  )
}

export const join = (parts: readonly Html[]): Html => new Html(parts.map(({ text }) => text).join(''))
