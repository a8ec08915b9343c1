import t from 'tap'
import { z } from 'zod'
import { openBrowser } from '../fixtures/browser.js'
import { count, shows } from '../fixtures/dashboard-page.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'

/** The view Weekday and hour, over two months of rows. */
const app = await startDashboard(t, { people: 1_500, agents: 1_500 })
const browser = await openBrowser(t)
const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
const Cell = z.object({
  weekday: z.int(),
  hour: z.int(),
  hours: z.int(),
  count: z.int().optional(),
  average: z.number().optional(),
})
const Answer = z.object({ data: z.object({ cells: z.array(Cell) }) })
const clock = (hour: number) => `${String(hour % 24).padStart(2, '0')}:00`
const nameOf = ({ weekday, hour }: z.infer<typeof Cell>) => `${DAYS[weekday - 1]}, ${clock(hour)} to ${clock(hour + 1)}`
const cellsOf = async (of: string, range: string) =>
  Answer.parse(await app.ask(`/api/stats/hours?site=1&audience=${of}&range=${range}`)).data.cells

t.test('a grid for each readership shows the averages as areas, and arrows read them out', async (t) => {
  const { page, trouble, context } = await signIn(browser, app, { viewport: { width: 1440, height: 900 } })
  await page.goto(`${app.admin}/sites/1/hours?range=30d`)
  await page.waitForSelector('main .week-grid.agent td.busiest')
  for (const [of, unit] of [
    ['human', 'visit'],
    ['agent', 'read'],
  ] as const) {
    const cells = await cellsOf(of, '30d')
    const grid = `main .week-grid.${of}`
    const most = Math.max(...cells.map(({ average = 0 }) => average))
    const busiest = cells.findIndex(({ average }) => average === most)
    const cell = cells[busiest]
    if (!cell) throw new Error('nothing was counted')
    t.match(await page.textContent(`${grid} td.busiest`), nameOf(cell), 'the frame')
    t.match(await page.textContent('main .sentence'), nameOf(cell), 'the sentence names the busiest hour')
    const n = cell.count ?? 0
    const hours = cell.hours === 1 ? 'in the one such hour' : `in ${cell.hours} such hours`
    t.match(await page.textContent(`${grid} .read-out`), `${count(n)} ${unit}${n === 1 ? '' : 's'} ${hours}`)

    const widths = z
      .array(z.number())
      .parse(
        await page.evaluate(
          `[...document.querySelectorAll('${grid} td.hour')].map((td) => parseFloat(td.querySelector('.mark')?.style.width ?? 0))`,
        ),
      )
    t.equal(widths.length, 168, 'every hour of the week')
    const [all = 0] = [widths[busiest]]
    const wrong = cells.filter(({ average = 0 }, i) => {
      const side = widths[i] ?? 0
      return average === 0 ? side !== 0 : side > 2 && Math.abs((side / all) ** 2 - average / most) > 0.01
    })
    t.same(wrong, [], `${of}: the area is proportional to the average; nothing is drawn for 0`)

    t.equal(await page.locator(`${grid} td.hour[tabindex="0"]`).count(), 1, 'one tab stop')
    await page.focus(`${grid} td.hour[tabindex="0"]`)
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowUp')
    const moved = cells[((Math.floor(busiest / 24) + 6) % 7) * 24 + ((busiest + 1) % 24)]
    if (!moved) throw new Error('the grid ends')
    await shows(
      t,
      page,
      `document.querySelector('${grid} .read-out b').textContent`,
      nameOf(moved),
      'arrows move, around the edges',
    )
    t.equal(await page.locator(`${grid} td.hour[tabindex="0"]`).count(), 1, 'still one tab stop')
  }
  t.match(await page.textContent('main .sheet'), 'Times in Europe/Berlin')
  t.same(trouble.lines, [])
  await context.close()
})

t.test('an hour that was never recorded whole is hatched and has no number', async (t) => {
  const { page, context } = await signIn(browser, app, { viewport: { width: 1440, height: 900 } })
  await page.goto(`${app.admin}/sites/1/hours?range=24h&show=human`)
  await page.waitForSelector('main .week-grid')
  const cells = await cellsOf('human', '24h')
  const unrecorded = cells.filter(({ hours }) => hours === 0)
  t.ok(unrecorded.length >= 144, `${unrecorded.length} cells of the other days`)
  t.equal(await page.locator('main td.unrecorded').count(), unrecorded.length)
  t.equal(await page.locator('main td.unrecorded .mark').count(), 0)
  t.match(await page.textContent('main td.unrecorded >> nth=0'), 'never recorded whole in this time')
  t.equal(await page.locator('main .week-grid.agent').count(), 0, 'agents are not shown')
  await context.close()
})

t.test('on a phone the grids stand below each other, and none is cut', async (t) => {
  const { page, context } = await signIn(browser, app, { viewport: { width: 390, height: 844 } })
  await page.goto(`${app.admin}/sites/1/hours?range=30d`)
  await page.waitForSelector('main .week-grid.agent td.busiest')
  const boxes = z
    .array(z.object({ left: z.number(), right: z.number(), top: z.number(), bottom: z.number() }))
    .parse(
      await page.evaluate(
        `[...document.querySelectorAll('main .week-grid table')].map((each) => each.getBoundingClientRect().toJSON())`,
      ),
    )
  const [people, agents] = boxes
  t.ok(people && agents && agents.top > people.bottom, 'stacked')
  for (const { left, right } of boxes) t.ok(left >= 0 && right <= 390, `from ${left} to ${right}`)
  await context.close()
})
