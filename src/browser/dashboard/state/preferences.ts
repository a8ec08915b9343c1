import { effect, signal } from '@preact/signals'

/** A setting that one browser remembers. A browser that forbids storage forgets at the end of the page. */
function remembered<T extends string>(name: string, values: readonly T[], fallback: T) {
  let stored: string | null = null
  try {
    stored = localStorage.getItem(`readership.${name}`)
  } catch {}
  const value = signal<T>(values.find((each) => each === stored) ?? fallback)
  effect(() => {
    try {
      localStorage.setItem(`readership.${name}`, value.value)
    } catch {}
  })
  return value
}

export const THEMES = ['system', 'light', 'dark'] as const
export const theme = remembered('theme', THEMES, 'system')

export const LANGUAGES = ['en', 'de'] as const
export type Language = (typeof LANGUAGES)[number]
export const language = remembered<Language>('language', LANGUAGES, navigator.language.startsWith('de') ? 'de' : 'en')

/** Whether single letters are shortcuts (WCAG 2.1.4: one switch turns them off). */
export const letterKeys = remembered('letter-keys', ['on', 'off'] as const, 'on')

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
})
effect(() => {
  document.documentElement.lang = language.value
})
