export const sharing = {
  title: 'Share this view',
  members: 'For members, who sign in: the view with its time, filters and readership.',
  everyone: 'For everybody who has the link',
  never: (view: string) => `No share link shows ${view}: it would tell about single visitors, or change something.`,
  opens: (view: string, scopes: string) =>
    `The link opens ${view} as it is on screen, without an account. It shows: ${scopes}. Its readers may choose another time and other filters.`,
  make: 'Make a link',
  endsHint: 'Empty: it works until it is taken back.',
  made: 'Change it, or take it back later, under',
  revoke: 'Take it back',
  revoked: 'The link does not work any more.',
  copied: 'The link is made and copied.',
  closed: {
    title: (view: string) => `This link does not show ${view}`,
    needs: (scope: string) => `It lacks the right “${scope}”. Ask the person who sent the link for one that has it.`,
  },
}
