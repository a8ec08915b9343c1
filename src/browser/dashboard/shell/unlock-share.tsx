import { Form } from '../parts/dialogs.js'
import { Input } from '../parts/fields.js'
import { Logo } from '../parts/marks.js'
import { unlockShare } from '../state/share.js'
import { t } from '../texts/index.js'

/** Asks for the password of a share link. */
export function UnlockShare({ slug }: { slug: string }) {
  const { locked } = t().shell
  return (
    <main id="main" class="state">
      <p class="brand">
        <Logo />
        readership
      </p>
      <h1 class="title">{locked.title}</h1>
      <Form
        action={locked.action}
        submit={async (fields) => {
          const problem = await unlockShare(slug, `${fields.get('password')}`)
          if (problem) throw problem
        }}
      >
        <Input
          label={locked.password}
          name="password"
          type="password"
          required
          autofocus
          autocomplete="current-password"
        />
      </Form>
    </main>
  )
}
