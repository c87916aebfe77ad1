// Line icons, 24 × 24, drawn by hand so that nothing has to be loaded.
const paths = {
    plus: 'M12 5v14M5 12h14',
    menu: 'M4 7h16M4 12h16M4 17h16',
    close: 'M6 6l12 12M18 6L6 18',
    search: 'M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM20 20l-4.5-4.5',
    send: 'M12 19V5M6 11l6-6 6 6',
    stop: 'M8 8h8v8H8z',
    copy: 'M9 9h10v10H9zM15 9V5H5v10h4',
    check: 'M5 12.5l4.5 4.5L19 7.5',
    edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
    again: 'M4 12a8 8 0 0 1 14-5.3L20 9M20 4v5h-5M20 12a8 8 0 0 1-14 5.3L4 15M4 20v-5h5',
    trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
    download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
    left: 'M15 5l-7 7 7 7',
    right: 'M9 5l7 7-7 7',
    chat: 'M4 5h16v11H10l-4 4v-4H4z',
    cube: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
    flask: 'M9 3h6M10 3v6L4.5 19a1.4 1.4 0 0 0 1.2 2h12.6a1.4 1.4 0 0 0 1.2-2L14 9V3M7 15h10',
    gauge: 'M5 18a9 9 0 1 1 14 0M12 13l4-5',
    pulse: 'M3 12h4l3-7 4 14 3-7h4',
    sliders: 'M4 7h10M18 7h2M4 17h2M10 17h10M14 5v4M6 15v4',
    sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M19 5l-1.5 1.5M6.5 17.5L5 19',
    moon: 'M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5z',
    half: 'M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16',
    folder: 'M3 6h6l2 2h10v11H3z',
    link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
    file: 'M6 3h8l4 4v14H6zM14 3v4h4',
    warning: 'M12 4L2.5 20h19zM12 10v4.5M12 17.2v.1',
    globe: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM4 12h16M12 4c3 3 3 13 0 16M12 4c-3 3-3 13 0 16',
    clip: 'M18 11l-7 7a4 4 0 0 1-6-6l8-8a3 3 0 0 1 4 4l-8 8a1 1 0 0 1-2-2l7-7',
    camera: 'M4 8h4l1.5-3h5L16 8h4v11H4zM12 10a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
    microphone: 'M12 4a2.5 2.5 0 0 0-2.5 2.5v5a2.5 2.5 0 0 0 5 0v-5A2.5 2.5 0 0 0 12 4zM6 11a6 6 0 0 0 12 0M12 17v3.5',
    tool: 'M14 6a4 4 0 0 1 5-1l-3 3 1 2 2 1 3-3a4 4 0 0 1-6 5l-8 8-3-3 8-8a4 4 0 0 1 1-4z',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
    return (
        <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
            <path d={paths[name]} />
        </svg>
    );
}

interface IconButtonProps {
    icon: IconName;
    label: string;
    onClick: () => void;
    disabled?: boolean;
    class?: string;
}

export function IconButton(props: IconButtonProps) {
    return (
        <button
            type="button"
            class={`icon-button ${props.class ?? ''}`}
            aria-label={props.label}
            title={props.label}
            disabled={props.disabled ?? false}
            onClick={props.onClick}
        >
            <Icon name={props.icon} />
        </button>
    );
}
