import { effect, signal } from '@preact/signals'
import { language } from '../state/preferences.js'
import * as en from './en/index.js'
import type { Texts } from './shape.js'

const current = signal<Texts>(en)

/** The texts in the chosen language. */
export const t = (): Texts => current.value

/** Resolves when the texts of the chosen language are there; follows later choices. */
export async function loadTexts(): Promise<void> {
  await load()
  effect(() => {
    if (language.value) void load()
  })
}

async function load(): Promise<void> {
  const chosen = language.peek()
  // Without a connection the texts that are there stay.
  const texts = chosen === 'de' ? await import('./de/index.js').catch(() => current.peek()) : en
  if (language.peek() === chosen) current.value = texts
}
