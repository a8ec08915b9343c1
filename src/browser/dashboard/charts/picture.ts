const STYLED = [
  'fill',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'fill-opacity',
  'stroke-opacity',
  'font',
  'paint-order',
  'stroke-linejoin',
  'stop-color',
  'stop-opacity',
] as const

/** Copies the styles that a drawing has on this page into its elements, because a picture knows no stylesheet. */
function inlineStyles(from: Element, to: Element): void {
  const styles = getComputedStyle(from)
  for (const name of STYLED) {
    const value = styles.getPropertyValue(name)
    // Patterns and gradients are named by the page's own address.
    if (value && to instanceof SVGElement)
      to.style.setProperty(name, value.replace(/url\("[^"#]*(#[^"]+)"\)/, 'url($1)'))
  }
  for (let i = 0; i < from.children.length; i++) {
    const [a, b] = [from.children[i], to.children[i]]
    if (a && b) inlineStyles(a, b)
  }
}

/** Saves a chart as a PNG of twice its size, on the page's background. */
export async function savePicture(chart: SVGSVGElement, name: string): Promise<void> {
  const { width, height } = chart.getBoundingClientRect()
  const copy = chart.cloneNode(true)
  if (!(copy instanceof SVGSVGElement)) return
  inlineStyles(chart, copy)
  const patterns = document.querySelector('svg defs')
  if (patterns) {
    const defs = patterns.cloneNode(true)
    if (defs instanceof Element) inlineStyles(patterns, defs)
    copy.prepend(defs)
  }
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  copy.setAttribute('width', `${width}`)
  copy.setAttribute('height', `${height}`)
  const picture = new Image()
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`
  await picture.decode()
  const canvas = document.createElement('canvas')
  canvas.width = width * 2 + 48
  canvas.height = height * 2 + 48
  const context = canvas.getContext('2d')
  if (!context) return
  context.fillStyle = getComputedStyle(document.body).backgroundColor
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(picture, 24, 24, width * 2, height * 2)
  const link = document.createElement('a')
  link.href = canvas.toDataURL('image/png')
  link.download = `${name}.png`
  link.click()
}
