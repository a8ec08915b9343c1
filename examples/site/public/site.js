// The whole script of the site: the gauge (an event stream), the radio (a WebSocket), and the harbours, the one page that does
// not read without it.
const gauge = document.querySelector('#gauge')
if (gauge) {
  const path = document.querySelector('.curve path')
  const heights = []
  const draw = () => {
    const low = Math.min(...heights) - 0.01
    const high = Math.max(...heights) + 0.01
    const at = (h, i) =>
      `${((i * 100) / Math.max(1, heights.length - 1)).toFixed(2)},${(98 - (96 * (h - low)) / (high - low)).toFixed(2)}`
    path.setAttribute('d', `M${heights.map(at).join('L')}`)
  }
  const source = new EventSource('/api/gauge/stream')
  source.addEventListener('reading', (event) => {
    const { height, trend } = JSON.parse(event.data)
    heights.push(height)
    if (heights.length > 120) heights.shift()
    gauge.textContent = `${height.toFixed(3)} m`
    document.querySelector('#trend').textContent = trend
    draw()
  })
}

const log = document.querySelector('#log')
if (log) {
  const say = (text) => {
    const line = document.createElement('li')
    line.textContent = text
    log.append(line)
    while (log.children.length > 12) log.firstElementChild.remove()
  }
  const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws/radio`)
  socket.addEventListener('message', (event) => say(event.data))
  socket.addEventListener('close', () => say('The set has gone quiet.'))
  document.querySelector('#radio').addEventListener('submit', (event) => {
    event.preventDefault()
    const field = event.target.elements.message
    if (field.value.trim()) socket.send(field.value.trim())
    field.value = ''
  })
}

const harbours = document.querySelector('#harbours')
if (harbours) {
  const add = (parent, name, text) => {
    const element = parent.appendChild(document.createElement(name))
    element.textContent = text
    return element
  }
  const show = async () => {
    add(harbours, 'h1', 'Harbours today')
    add(harbours, 'p', 'High and low water at our three harbours, two days ahead.')
    for (const id of ['ostrand', 'fennick-sound', 'the-skerry']) {
      const { name, extremes } = await (await fetch(`/api/tides?station=${id}&hours=48`)).json()
      add(add(harbours, 'h2', ''), 'a', name).href = `/places/${id}`
      const list = add(harbours, 'ul', '')
      for (const { at, kind, height } of extremes)
        add(list, 'li', `${at.slice(0, 16).replace('T', ' ')}: ${kind} water, ${height.toFixed(2)} m`)
    }
    add(harbours, 'a', 'Back to the front page').href = '/'
  }
  show().catch(() => add(harbours, 'p', 'The tide table did not come.'))
}
