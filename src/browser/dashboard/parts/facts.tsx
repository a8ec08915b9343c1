import type { ComponentChildren } from 'preact'
import { Cut } from './names.js'

/** A list of names and values, each pair a `Fact`. */
export const Facts = ({ isSmall, children }: { isSmall?: boolean; children: ComponentChildren }) => (
  <dl class={isSmall ? 'facts small' : 'facts'}>{children}</dl>
)

/** One name with its value, which is never empty: a value that is absent has its reason instead. */
export const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

/** Properties that the site sent: texts of any kind. */
export const Props = ({ of }: { of: Readonly<Record<string, unknown>> }) => (
  <Facts isSmall>
    {Object.entries(of)
      .slice(0, 50)
      .map(([name, value]) => (
        <Fact key={name} name={name.slice(0, 100)}>
          <Cut text={typeof value === 'string' ? value : JSON.stringify(value)} />
        </Fact>
      ))}
  </Facts>
)
