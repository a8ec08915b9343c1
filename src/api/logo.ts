/** The two pages of the logo's open book: a filled one for people, an outlined one for agents; 24 by 20 units. */
export const LOGO_PATHS = {
  people: 'M11 4.2C8.6 2.6 5.6 2 1.5 2v13.6c4.1 0 7.1.6 9.5 2.2z',
  agents: 'M13 4.2C15.4 2.6 18.4 2 22.5 2v13.6c-4.1 0-7.1.6-9.5 2.2z',
}

/** The logo as a file, in light and dark. */
export const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -2 24 24"><title>readership</title>
<style>.p{fill:#1c5cab}.a{fill:none;stroke:#a84a0b;stroke-width:2;stroke-linejoin:round}
@media(prefers-color-scheme:dark){.p{fill:#7fb4ff}.a{stroke:#f2a35e}}</style>
<path class="p" d="${LOGO_PATHS.people}"/><path class="a" d="${LOGO_PATHS.agents}"/></svg>
`
