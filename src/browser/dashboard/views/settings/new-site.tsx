import { Form } from '../../parts/dialogs.js'
import { Panel } from '../../parts/panel.js'
import { go } from '../../state/address.js'
import { client, send } from '../../state/client.js'
import { hasRole, loadSession, site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { SiteFields, siteOf } from './site-fields.js'

/** Makes a site in the organisation of the present one, and leads to its installation. */
export default function NewSite() {
  const { parts, shell } = t()
  return (
    <Panel title={shell.addSite}>
      {() =>
        hasRole('admin') ? (
          <Form
            action={parts.create}
            submit={async (fields) => {
              const { data } = await send(
                client.POST('/api/sites', {
                  body: {
                    ...siteOf(fields),
                    ...(site.value?.org === undefined ? {} : { org: site.value.org }),
                  },
                }),
              )
              await loadSession()
              go({ path: ['sites', `${data.id}`, 'settings', 'install'] })
            }}
          >
            <SiteFields of={{}} />
          </Form>
        ) : (
          <p class="muted">{parts.needsRole('admin')}</p>
        )
      }
    </Panel>
  )
}
